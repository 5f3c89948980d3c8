# The images themselves: size, labels, what is in them and what is not.
load lib/helpers

both=("$image" "$slim_image")
science_image=${IPYBOX_TEST_SCIENCE_IMAGE:-ipybox:science}

# in_image IMAGE SCRIPT - bash, as root, without the init.
in_image()
{
    box run --rm --label "ipybox.test=$name" --entrypoint bash "$1" -c "$2"
    assert_equal "$status" 0
}

@test "slim has at most 250 MB, the default at most 650 MB" {
    local slim default
    slim=$(($(docker image inspect --format '{{.Size}}' "$slim_image") / 1000000))
    default=$(($(docker image inspect --format '{{.Size}}' "$image") / 1000000))
    note "slim: $slim MB, default: $default MB"
    assert_at_most "$slim" 250 MB
    assert_at_most "$default" 650 MB
}

@test "labels, stop signal, health check, entry point and directory are as documented" {
    local one
    for one in "${both[@]}"; do
        show() { docker image inspect --format "$1" "$one"; }
        local word
        for word in title description version licenses source url documentation revision created base.name; do
            assert_match "$(show "{{index .Config.Labels \"org.opencontainers.image.$word\"}}")" '.'
        done
        assert_equal "$(show '{{index .Config.Labels "org.opencontainers.image.licenses"}}')" Apache-2.0
        assert_equal "$(show '{{.Config.StopSignal}}')" SIGTERM
        assert_equal "$(show '{{json .Config.Healthcheck.Test}}')" '["CMD","/usr/local/bin/ipybox","health"]'
        assert_equal "$(show '{{json .Config.Entrypoint}}')" '["/usr/local/bin/ipybox","init"]'
        assert_equal "$(show '{{json .Config.Cmd}}')" null
        assert_equal "$(show '{{.Config.WorkingDir}}')" /app/workspace
        assert_equal "$(show '{{.Config.User}}')" ""
    done
}

@test "nothing in the image is set-uid or has capabilities" {
    local one
    for one in "${both[@]}"; do
        in_image "$one" 'find / -xdev -type f -perm /6000'
        assert_equal "$output" ""
        in_image "$one" 'python3 - <<PY
import os
for top, _, names in os.walk("/usr"):
    for name in names:
        path = os.path.join(top, name)
        if not os.path.islink(path) and "security.capability" in os.listxattr(path):
            print(path)
PY'
        assert_equal "$output" ""
    done
}

@test "only what everybody needs is writable for everybody" {
    in_image "$image" 'find / -xdev -perm -0002 ! -type l ! -path "/proc/*" ! -path "/dev/*" | sort | xargs'
    assert_match "$output" '/app/workspace'
    assert_equal "$(tr ' ' '\n' <<< "$output" | grep -vxE '/app/workspace|/home/ipybox|/run/ipybox|/run/lock|/var/lib/ipybox|/tmp|/var/tmp' || true)" ""
}

@test "no compiler, no build tool, no lists, no caches, no logs, no secrets are left" {
    local one
    for one in "${both[@]}"; do
        in_image "$one" 'for tool in gcc cc g++ clang zig make cmake ninja meson ld as curl wget; do command -v $tool; done; true'
        assert_equal "$output" ""
        in_image "$one" 'find /var/lib/apt/lists /var/cache/apt /root /home /tmp /var/tmp /src /build /var/log -type f ! -name .bashrc ! -name .profile ! -name lastlog ! -name faillog ! -name btmp ! -name wtmp 2>/dev/null; true'
        assert_equal "$output" ""
        in_image "$one" 'find / -xdev -type f \( -name "*.pem" -o -name "*.key" -o -name "*.crt" -o -name "pip.conf" \) ! -path "/usr/share/ca-certificates/*" ! -path "/etc/ssl/certs/*" ! -path "*/certifi/cacert.pem" ! -path "*/site-packages/*/tests/*" | head'
        assert_equal "$output" ""
        in_image "$one" 'ls -A /run/secrets 2>/dev/null; env | grep -iE "token|secret|password|proxy"; true'
        assert_equal "$output" ""
    done
}

@test "the extra CA that built the image is not in it" {
    if [ -z "${IPYBOX_CA:-}" ]; then
        # Nothing was handed in: then the image's list is Debian's own, to the byte.
        in_image "$image" 'update-ca-certificates --fresh >/dev/null 2>&1; cksum < /etc/ssl/certs/ca-certificates.crt'
        local fresh=$output
        in_image "$image" 'cksum < /etc/ssl/certs/ca-certificates.crt'
        assert_equal "$output" "$fresh"
        return
    fi
    # Certificates of the bundle that Debian does not ship must not be found in the image's list.
    in_image "$image" 'cat /etc/ssl/certs/ca-certificates.crt'
    printf '%s\n' "$output" > "$BATS_TEST_TMPDIR/image.crt"
    in_image "$image" 'cat /usr/share/ca-certificates/mozilla/*.crt'
    printf '%s\n' "$output" > "$BATS_TEST_TMPDIR/debian.crt"
    run python3 - "$BATS_TEST_TMPDIR/image.crt" "$BATS_TEST_TMPDIR/debian.crt" <<'PY'
import re, sys
def certificates(path):
    found = re.findall("-----BEGIN CERTIFICATE-----(.*?)-----END", open(path).read(), re.DOTALL)
    return {"".join(text.split()) for text in found}
image, debian = map(certificates, sys.argv[1:])
print(len(image) > 100, len(image - debian))
PY
    assert_equal "$output" "True 0"
}

@test "the Python packages are those of the lock, and pip finds them whole" {
    local one
    for one in "${both[@]}"; do
        box run --rm --label "ipybox.test=$name" --entrypoint python3 \
            -v "$here/../../../third_party/python/requirements.txt:/lock:ro" "$one" -c '
import importlib.metadata, re
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
lines = re.sub(r"\\\n", " ", open("/lock").read()).splitlines()
locked = [Requirement(line.split(" --hash")[0]) for line in lines if line[:1].isalnum()]
wanted = {(canonicalize_name(r.name), str(r.specifier)[2:]) for r in locked if not r.marker or r.marker.evaluate()}
there = {(canonicalize_name(d.name), d.version) for d in importlib.metadata.distributions()}
print(len(wanted) > 30, wanted - there, {name for name, _ in there - wanted} - {"uv"})'
        assert_equal "$output" "True set() set()"
        # ipykernel asks for a debugger that is left out on purpose.
        in_image "$one" 'python3 -m pip check --disable-pip-version-check | grep -v "^ipykernel .* requires debugpy"; true'
        assert_equal "$output" ""
    done
}

@test "every Python file of the packages is compiled, in a form that no clock and no uid can spoil" {
    local one
    for one in "${both[@]}"; do
        in_image "$one" 'python3 - <<PY
import pathlib, importlib.util
count = 0
for top in "/usr/local/lib/python3.13/dist-packages", "/opt/ipybox/python":
    for source in pathlib.Path(top).rglob("*.py"):
        compiled = pathlib.Path(importlib.util.cache_from_source(str(source)))
        try:
            compile(source.read_bytes(), str(source), "exec")
        except (SyntaxError, ValueError):
            continue
        count += 1
        if not compiled.exists() or int.from_bytes(compiled.read_bytes()[4:8], "little") != 1:
            print(source)
print("compiled" if count > 500 else count)
PY'
        assert_equal "$output" compiled
    done
}

@test "the binary is static-pie and stripped, and needs nothing of the image" {
    box create --name "$name" --label "ipybox.test=$name" "$image"
    box cp "$name:/usr/local/bin/ipybox" "$BATS_TEST_TMPDIR/ipybox"
    box rm "$name"
    local what
    what=$(file -b "$BATS_TEST_TMPDIR/ipybox")
    assert_match "$what" 'static-pie linked'
    assert_match "$what" ', stripped'
    assert_equal "$(readelf -lW "$BATS_TEST_TMPDIR/ipybox" | grep -E 'INTERP|RWE' || true)" ""
    assert_match "$(readelf -lW "$BATS_TEST_TMPDIR/ipybox")" 'GNU_RELRO'
    note "binary: $(($(stat -c %s "$BATS_TEST_TMPDIR/ipybox") / 1000)) kB"
    run env -i "$BATS_TEST_TMPDIR/ipybox" --version
    assert_match "$output" '^ipybox '
}

@test "the default image has git, uv, uvx, node, npm and npx; slim has none of them" {
    local tool
    for tool in git uv uvx node npm npx; do
        run_box -- "$tool" --version
        assert_equal "$status" 0
        assert_match "$output" '[0-9]+\.[0-9]+'
        note "$tool: $output"
    done
    in_image "$slim_image" 'for tool in git uv uvx node npm npx; do command -v $tool; done; true'
    assert_equal "$output" ""
}

@test "the default image has the OpenMP library that wheels expect" {
    in_image "$image" 'ldconfig -p | grep -o "libgomp.so.1 "'
    assert_equal "$output" "libgomp.so.1 "
}

# bats test_tags=all
@test "science has at most 1100 MB and all that it names" {
    local mb
    mb=$(($(docker image inspect --format '{{.Size}}' "$science_image") / 1000000))
    note "science: $mb MB"
    assert_at_most "$mb" 1100 MB
    this_image=$science_image
    drive -e IPYBOX_PRELOAD=numpy,pandas <<'PY'
prints("import sys; 'pandas' in sys.modules", True)     # the template has imported it
tool("reset")
prints("import sys; 'pandas' in sys.modules", True)
runs("import duckdb, openpyxl, PIL, polars, pyarrow.parquet, requests, scipy.stats, sklearn.ensemble", timeout=WAIT)
prints("import numpy as np, pandas as pd, polars as pl; df = pd.DataFrame({'a': [1, 2]})\n"
       "df.to_parquet('t.parquet'); df.to_excel('t.xlsx'); pl.read_parquet('t.parquet')['a'].sum(), duckdb.sql('select sum(a) from df').fetchall()[0][0]",
       "(3, 3)")
prints("sklearn.ensemble.RandomForestClassifier(n_jobs=2).fit([[0], [1]], [0, 1]).predict([[1]])[0]", "np.int64(1)")
matches(runs("import matplotlib.pyplot as plt; _ = plt.plot([1, 2]); plt.title('Größe'); plt.show()").text, "images/")
prints("from joblib import Parallel, delayed\n_ = Parallel(n_jobs=2)(delayed(print)('printed by', i) for i in [7, 7])", "printed by 7\nprinted by 7")
PY
}

# bats test_tags=measure
@test "the first import of a library that is loaded already takes less than 5 ms" {
    this_image=$science_image drive -e IPYBOX_PRELOAD=numpy,pandas <<'PY'
took = []
for _ in range(3):
    took.append(float(runs("import time; t = time.perf_counter(); import pandas; print((time.perf_counter() - t) * 1000)").text))
    tool("reset")
note(f"the first import of pandas in a new kernel: {min(took):.2f} ms")
below(min(took), 5)
PY
}

@test "slim executes cells and has the gateway like the default" {
    this_image=$slim_image
    drive -- --kernel-gateway-port 8888 <<'PY'
        prints("1 + 1", 2)
        ask = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:8888/api').read().decode())"
        matches(inside("python3", "-c", ask), "version")
        wait_for("health", healthy)
PY
}

@test "a command of the image is run as any image runs it" {
    run_box -- bash -c 'echo "$HOME $PWD $LANG"; python --version; pip --version | cut -d" " -f1'
    assert_equal "$status" 0
    assert_match "$output" '^/home/ipybox /app/workspace C.UTF-8
Python 3\.[0-9.]+
pip$'
}

@test "IPYBOX_DEFAULT_UID and GID, which the build sets, are the identity without a workspace" {
    local uid gid
    uid=$(docker image inspect --format '{{join .Config.Env "\n"}}' "$image" | sed -n 's/^IPYBOX_DEFAULT_UID=//p')
    gid=$(docker image inspect --format '{{join .Config.Env "\n"}}' "$image" | sed -n 's/^IPYBOX_DEFAULT_GID=//p')
    run_box -- bash -c 'echo "$(id -u):$(id -g)"'
    assert_equal "$output" "$uid:$gid"
    run_box -e IPYBOX_DEFAULT_UID=4321 -e IPYBOX_DEFAULT_GID=8765 -- bash -c 'echo "$(id -u):$(id -g)"'
    assert_equal "$output" 4321:8765
}

@test "ipybox:nonroot names its user by number, has no process with tokens beside cells, and runs them" {
    local nonroot=${IPYBOX_TEST_NONROOT_IMAGE:-ipybox:nonroot}
    assert_equal "$(docker image inspect --format '{{.Config.User}} {{.Config.Healthcheck.Test}}' "$nonroot")" "1000:1000 [NONE]"
    image=$nonroot drive --cap-drop ALL --security-opt no-new-privileges -- --sandbox <<'PY'
        prints("import os; print(os.getuid(), open('x', 'w').write('a'))", "1000 1")
        prints("import stat; oct(stat.S_IMODE(os.stat('/usr/local/bin/ipybox').st_mode))", "'0o755'")
PY
}
