# Clients of all kinds in the sandbox, without a proxy setting: what is allowed is reached, what is not is refused.
# bats file_tags=all
load ../lib/helpers

setup_file()
{
    export clients_image=ipybox-test:clients-$$
    CGO_ENABLED=0 HOME=${HOME:-/root} go build -o "$BATS_FILE_TMPDIR/fetch" "$here/fetch.go"
    printf 'FROM %s\nUSER 0\nRUN apt-get update && apt-get install -y --no-install-recommends curl wget\n' \
        "${IPYBOX_TEST_IMAGE:-ipybox}" | docker build -q -t "$clients_image" -
}

teardown_file()
{
    docker image rm -f "$clients_image" >/dev/null
}

@test "curl, wget, pip, requests, httpx, aiohttp, node, git, sockets and Go reach an allowed name, and no other" {
    local settings=$BATS_TEST_TMPDIR/settings.json ca=() this_image=$clients_image
    echo '{"network": {"allowedDomains": ["pypi.org", "files.pythonhosted.org"], "deniedDomains": []},
           "filesystem": {"denyRead": [".env"], "allowWrite": ["."], "denyWrite": []}}' > "$settings"
    chmod 0644 "$settings"
    chmod 0755 "$BATS_FILE_TMPDIR/fetch"
    if [ -n "${IPYBOX_CA:-}" ]; then ca=(-v "$IPYBOX_CA:/ca.pem:ro" -e IPYBOX_CA=/ca.pem); fi
    drive "${ca[@]}" -v "$settings:/settings.json:ro" -v "$here/sandbox_clients.py:/clients.py:ro" \
        -v "$BATS_FILE_TMPDIR/fetch:/fetch:ro" -- --sandbox --sandbox-config /settings.json <<'PY'
        names = "urllib requests httpx aiohttp sockets curl wget node go git pip".split()
        prints(f"!WAIT={WAIT} python3 /clients.py", "proxy variables: []", timeout=WAIT)
        for name in names:
            prints(f"!WAIT={WAIT} python3 /clients.py {name}", f"{name} reached\n{name} refused", timeout=WAIT)
PY
}
