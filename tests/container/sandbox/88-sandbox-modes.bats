# The same acts in every kind of container that people run, inside and outside of the sandbox.
load ../lib/helpers

readonly moby_seccomp=github.com/moby/profiles/seccomp@v0.2.3    # the engine's profile since version 25, and newer

restricted=(--user 1234:1234 --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges)

# The workspace that sandbox_acts.py and sandbox_settings.json speak of, of this user.
acts_workspace()
{
    workspace 1234:1234 0777
    (
        cd "$workspace" || exit
        mkdir -p deep/secret/open frozen .git/hooks
        echo text > README.md
        echo SECRET=1 > .env
        ln -s .env link-to-env
        echo secret > deep/secret/file
        echo open > deep/secret/open/file
        touch frozen/kept
    )
    as_root chown -R 1234:1234 "$workspace"
}

# acts plain|sandboxed [OPTION OF docker run]... - sandbox_acts.py in such a container.
acts()
{
    local kind=$1 before=
    shift
    if [ "$kind" = sandboxed ]; then before='ipybox sandbox --settings /settings.json --'; fi
    acts_workspace
    run_box "$@" -e "WAIT=$guard" --add-host allowed.test:127.0.0.7 --add-host denied.test:127.0.0.7 -v "$workspace:/app/workspace" -v "$here/sandbox_acts.py:/acts.py:ro" \
        -v "$here/sandbox_settings.json:/settings.json:ro" -- bash -c "
            mkdir /tmp/elsewhere && touch /tmp/elsewhere/there
            sleep 1000 & outside=\$!
            coproc { python3 -u -c 'import socket, time
s = socket.create_server((\"127.0.0.1\", 0)); t = socket.create_server((\"127.0.0.7\", 8443)); print(s.getsockname()[1]); time.sleep(1000)'; }
            read -r port <&\"\${COPROC[0]}\"
            $before python3 /acts.py $kind \$outside \$port"
    assert_equal "$status" 0
}

in_and_out()
{
    acts plain "$@"
    acts sandboxed "$@"
}

@test "the sandbox holds in a container with default settings" {
    in_and_out
}

@test "the sandbox holds in a container of another user" {
    in_and_out --user 1234:1234
}

@test "the sandbox holds without rights, with a root that is read-only" {
    in_and_out "${restricted[@]}"
}

# bats test_tags=all
@test "the sandbox holds with the current seccomp profile of the engine" {
    go_module "$moby_seccomp"
    in_and_out "${restricted[@]}" --security-opt "seccomp=$directory/default.json"
}

@test "the sandbox holds in a container with SYS_ADMIN" {
    in_and_out --cap-add SYS_ADMIN
}

# go_module MODULE@VERSION - sets directory to its files.
go_module()
{
    if ! command -v go >/dev/null; then
        DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends golang-go >/dev/null
    fi
    directory=$(cd "$BATS_TEST_TMPDIR" && limited go mod download -json "$1" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
}
