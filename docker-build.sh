#!/usr/bin/env bash
# ./docker-build.sh [ARGUMENT...]   build the image "ipybox"; the arguments are passed on to `docker build`
#                                   (--target slim -t ipybox:slim, --build-arg UID=1234, --no-cache, ...)
# ./docker-build.sh run             set everything up on a fresh machine, build, and execute a cell over MCP
# ./docker-build.sh test            build, and run the tests that every change must pass: 25 minutes on 2 processors, 45 on a fresh machine
# ./docker-build.sh test all        every test; `test SECTION...`: some sections of them (tests/run names them)
# ./docker-build.sh measure         the tests that measure: seconds, bytes, statistics
# ./docker-build.sh wheel           make dist/ipybox-*.whl: for Linux on x86_64 and aarch64, and for any machine (Docker);
#                                   and dist/llms.txt, dist/llms-full.txt: the documentation for language models
# ./docker-build.sh release [FOLDER] make a release's images and papers, the same bytes each time (docs/verify.md)
# ./docker-build.sh root RELEASE    make the image ipybox-base:RELEASE, a minimal Debian (for tests)
# ./docker-build.sh help            this text
#
# --ca FILE, as first argument: an extra CA bundle (PEM) for machines behind a TLS-inspecting proxy. It is used while
# building and never stored in the image. Default: $IPYBOX_CA, else $SSL_CERT_FILE or $PIP_CERT where they are set.
#
# BASE_IMAGE   base image to use instead of debian:trixie-slim. Where no registry can be reached one is made from
#              Debian's packages (mmdebstrap) and kept under the name ipybox-base:trixie.
# SOURCES_DIR  folder with the archives of third_party/PINS, for building without a network.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
local_base=ipybox-base:trixie
docker=

main()
{
    local ca=${IPYBOX_CA:-${SSL_CERT_FILE:-${PIP_CERT:-}}}
    if [ "${1:-}" = --ca ]; then
        [ $# -ge 2 ] || die "--ca needs a file"
        ca=$2
        shift 2
        [ -r "$ca" ] || die "--ca: cannot read $ca"
    fi
    if [ -f "$ca" ]; then IPYBOX_CA=$(realpath "$ca"); else IPYBOX_CA=; fi
    export IPYBOX_CA

    case ${1:-} in
        help|--help|-h) sed -n '2,/^set /{/^set /d; s/^# \{0,1\}//; p}' "${BASH_SOURCE[0]}" ;;
        run) shift; [ $# -eq 0 ] || die "run takes no arguments"; need_docker; build; first_cell ;;
        wheel) shift; [ $# -eq 0 ] || die "wheel takes no arguments"; need_docker; wheels ;;
        release) shift; need_docker; need_base; need_release; exec "$top/release/build" "$@" ;;
        root) shift; [ $# -eq 1 ] || die "root takes the name of a Debian release"; need_docker; make_base "$1" ;;
        test) shift; need_docker; need_base; exec "$top/tests/run" "$@" ;;
        measure) need_docker; need_base; exec "$top/tests/run" "$@" ;;
        *) need_docker; build "$@" ;;
    esac
}

# ---- building ----

build()
{
    local arg tag=(-t ipybox) args=()
    need_base
    label_args
    # The caller's own name or --output replaces ours.
    for arg; do case $arg in -t|-t=*|--tag|--tag=*|-o|--output|--output=*) tag=() ;; esac; done
    # As before, the image's default identity is the builder's; for root the image's own 1000 stays.
    if [ "$(id -u)" -ne 0 ]; then args+=(--build-arg "UID=$(id -u)" --build-arg "GID=$(id -g)"); fi
    if [ -n "$IPYBOX_CA" ]; then args+=(--secret "id=ca,src=$IPYBOX_CA"); fi
    get_archives
    DOCKER_BUILDKIT=1 "$docker" build --build-arg "BASE_IMAGE=$BASE_IMAGE" "${args[@]}" "${tag[@]}" "$@" "$top"
    if [ ${#tag[@]} -gt 0 ]; then
        say "image ipybox: $(($("$docker" image inspect ipybox --format '{{.Size}}') / 1000000)) MB"
    fi
}

# All archives of the libraries, as the tests bring them too: with others the libraries would be built anew. What cannot be downloaded
# here is downloaded where they are built.
get_archives()
{
    if command -v curl >/dev/null && "$top/third_party/fetch"; then return; fi
    "$top/third_party/fetch" --local
}

# What a label says of this checkout and the base image goes to args: it would make every layer anew in the Dockerfile.
label_args()
{
    local label=org.opencontainers.image revision digest
    if revision=$(git -C "$top" describe --match= --always --abbrev=40 --dirty 2>/dev/null); then
        args+=(--label "$label.revision=$revision" --label "$label.created=$(TZ=UTC0 git -C "$top" log -1 --format=%cd --date=format-local:%FT%TZ)")
    fi
    args+=(--label "$label.base.name=$BASE_IMAGE")
    # One that was made here has a digest in no registry.
    digest=$("$docker" image inspect --format '{{range .RepoDigests}}{{.}} {{end}}' "$BASE_IMAGE" 2>/dev/null | sed -n 's/^[^ ]*@\([^ ]*\) .*/\1/p' || true)
    if [ -n "$digest" ]; then args+=(--label "$label.base.digest=$digest"); fi
}

# IPYBOX_WHEEL_MACHINES: other machines than both, separated by spaces. IPYBOX_WHEEL_AGAIN: another value than the last
# time makes the wheels once more of what is compiled.
wheels()
{
    local machine args=() arch
    need_base
    if [ -n "$IPYBOX_CA" ]; then args+=(--secret "id=ca,src=$IPYBOX_CA"); fi
    get_archives
    mkdir -p "$top/dist"
    rm -f "$top"/dist/*.whl
    for machine in ${IPYBOX_WHEEL_MACHINES:-x86_64 aarch64}; do
        # Not named where it is this one: then libraries and binary of the image serve, which are in the cache.
        arch=()
        if [ "$machine" != "$(uname -m)" ]; then arch=(--build-arg "MUSL_ARCH=$machine"); fi
        DOCKER_BUILDKIT=1 "$docker" build --build-arg "BASE_IMAGE=$BASE_IMAGE" "${arch[@]}" \
            --build-arg "WHEEL_AGAIN=${IPYBOX_WHEEL_AGAIN:-}" "${args[@]}" --target dist --output "type=local,dest=$top/dist" "$top"
    done
    python3 "$top/docs/llms" "$top/dist"
    (cd "$top/dist" && sha256sum ./*.whl)
}

# A base image, exported as BASE_IMAGE: the caller's, one that is here, the registry's, or one of our own making.
need_base()
{
    local official=debian:trixie-slim image
    if [ -n "${BASE_IMAGE:-}" ]; then export BASE_IMAGE; return; fi
    for image in "$official" "$local_base"; do
        if "$docker" image inspect "$image" >/dev/null 2>&1; then export BASE_IMAGE=$image; return; fi
    done
    say "base image: pulling $official"
    if timeout 120 "$docker" pull -q "$official" >/dev/null 2>&1; then export BASE_IMAGE=$official; return; fi
    say "base image: no registry reached, making $local_base with mmdebstrap"
    make_base trixie
    export BASE_IMAGE=$local_base
}

# make_base SUITE - the image ipybox-base:SUITE, a minimal Debian made of its packages.
make_base()
{
    need_command mmdebstrap mmdebstrap debian-archive-keyring
    # A list on standard input replaces mmdebstrap's own default mirror.
    local sources from=()
    sources=$(debian_sources "$1")
    if [ -n "$sources" ]; then from=(-); fi
    if ! mmdebstrap --quiet --variant=minbase --aptopt='Acquire::Retries "5"' "$1" - "${from[@]}" <<< "$sources" |
        "$docker" import - "ipybox-base:$1" >/dev/null; then
        die "mmdebstrap failed. Set BASE_IMAGE to an image of Debian trixie that this machine has."
    fi
}

# sources.list of trixie on the mirrors that apt of this machine is configured with; nothing where that is not Debian's.
debian_sources()
{
    local main security
    # shellcheck disable=SC2016  # apt expands these, not the shell
    main=$(apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' 2>/dev/null | sed -n 's/^Debian //p' | sort -u)
    security=$(grep security <<< "$main" | head -n 1 || true)
    main=$(grep -v security <<< "$main" | head -n 1 || true)
    if [ -z "$main" ]; then return; fi
    echo "deb $main $1 main"
    echo "deb $main $1-updates main"
    if [ -n "$security" ]; then echo "deb $security $1-security main"; fi
}

# ---- the engine ----

# A docker command that can build with BuildKit and an engine that answers, installed and started where we may.
need_docker()
{
    if ! find_docker; then
        need_root "Docker is missing" "Install Docker 20.10 or newer (with buildx, if it is newer than 22) and run this again."
        install docker.io
        if ! find_docker; then
            # In newer distributions command and BuildKit are packages of their own.
            install docker-cli docker-buildx
            find_docker || die "Docker was installed but cannot build with BuildKit."
        fi
    fi
    if "$docker" info >/dev/null 2>&1; then return; fi
    need_root "the Docker engine does not answer" "Start it, or ask for access to it (group docker), and run this again."
    start_engine
}

find_docker()
{
    local candidate major
    while read -r candidate; do
        major=$("$candidate" --version 2>/dev/null | sed -n 's/^Docker version \([0-9]*\).*/\1/p')
        # From 23 on BuildKit is a plugin, before it was built in.
        if [ -n "$major" ] && { [ "$major" -lt 23 ] || "$candidate" buildx version >/dev/null 2>&1; }; then
            docker=$candidate
            return 0
        fi
    done < <(type -ap docker)
    return 1
}

start_engine()
{
    local log=/var/log/dockerd.log i
    say "starting the Docker engine"
    systemctl start docker >/dev/null 2>&1 || service docker start >/dev/null 2>&1 || true
    for ((i = 0; i < 60; i++)); do
        if "$docker" info >/dev/null 2>&1; then return; fi
        # No service manager (a container, for example): start the engine itself.
        if [ "$i" -eq 5 ]; then setsid dockerd >> "$log" 2>&1 < /dev/null & fi
        sleep 1
    done
    tail -n 20 "$log" >&2 || true
    die "the Docker engine does not answer after 60 s"
}

# need_command COMMAND PACKAGE... - installs the packages when the command is missing.
need_command()
{
    local command=$1
    shift
    if command -v "$command" >/dev/null; then return; fi
    need_root "$command is missing" "Install it (package $1) and run this again."
    install "$@"
}

# What makes a release's base images; qemu starts programs of the other machine in them.
need_release()
{
    need_command mmdebstrap mmdebstrap debian-archive-keyring
    need_command arch-test arch-test
    need_command qemu-aarch64-static qemu-user-static
}

need_root()
{
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then die "$1. $2"; fi
}

install()
{
    say "installing $*"
    # A distributor's own repository that is down is no reason to stop.
    apt-get -o Acquire::Retries=5 update -q >/dev/null || say "apt-get update has failed; going on with the lists that are here"
    DEBIAN_FRONTEND=noninteractive apt-get -o Acquire::Retries=5 -o DPkg::Lock::Timeout=600 install -q -y --no-install-recommends "$@" >/dev/null
}

# ---- the first cell ----

# Starts the container as an MCP client does and prints what the cell prints. Standard input stays open until the answer
# is there: its end is the client's way to say goodbye.
first_cell()
{
    local code answer start text LC_ALL=C.UTF-8             # for \u00e4 in the answer
    code='import platform\nprimes = [n for n in range(2, 100) if all(n % d for d in range(2, n))]\nprint(f\"Python {platform.python_version()} says: the {len(primes)} primes below 100 sum to {sum(primes)}\")'
    say "docker run -i --rm ipybox, one cell over MCP:"
    start=$(date +%s%N)
    coproc BOX { exec "$docker" run -i --rm ipybox; }
    ask 1 '"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"docker-build.sh","version":"1"}}'
    printf '%s\n' '{"jsonrpc":"2.0","method":"notifications/initialized"}' >&"${BOX[1]}"
    ask 2 '"tools/call","params":{"name":"execute_ipython_cell","arguments":{"code":"'"$code"'"}}'
    [[ $answer =~ \"text\":\ ?\"(([^\"\\]|\\.)*)\" ]] || die "unexpected answer: $answer"
    text=${BASH_REMATCH[1]//\\\"/\"}
    say "answered $(( ($(date +%s%N) - start) / 1000000 )) ms after docker run:"
    printf '\n%b\n\n' "$text" | sed 's/^./    &/'
    [[ $text == *"sum to 1060"* ]] || die "this is not what the cell prints"
    local to_box=${BOX[1]}
    exec {to_box}>&-
    wait "$BOX_PID" || die "the container ended with status $?"
    say "it works. The command for your MCP client:  docker run -i --rm -v \"\$PWD:/app/workspace\" ipybox"
}

# ask ID METHOD-AND-PARAMS - one request; its answer goes to $answer.
ask()
{
    printf '{"jsonrpc":"2.0","id":%s,"method":%s}\n' "$1" "$2" >&"${BOX[1]}"
    local status=0
    while IFS= read -r -t 60 answer <&"${BOX[0]}" || { status=$?; false; }; do
        if [[ $answer =~ \"id\":\ ?$1[,}] ]]; then return; fi
    done
    if [ "$status" -gt 128 ]; then die "no answer to request $1 from the container within 60 s"; fi
    die "the container ended before it answered request $1 (its messages are above)"
}

say()
{
    printf 'ipybox: %s\n' "$*" >&2
}

die()
{
    say "$*"
    exit 1
}

main "$@"
