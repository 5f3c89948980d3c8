# A release: the same bytes twice, papers that are in order, signatures that hold. docs/verify.md has what a reviewer runs.
# shellcheck shell=bash

setup_file()
{
    export BATS_TEST_TIMEOUT=1200
    top=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    machine=$(dpkg --print-architecture)
    place=$top/build/supply
    export top machine place
    export IPYBOX_RELEASE_MACHINES=$machine IPYBOX_RELEASE_IMAGES=default
    rm -rf "$place"
    mkdir -p "$place"
    cd "$top" || return
    # The lock ages: mirrors keep a version until the next. Where Debian's archive of all versions is out of reach, what holds of a
    # lock is shown with one of today.
    if ! third_party/debian fetch "$machine" 2> "$place/fetch.log"; then
        sed 's/^/# /' "$place/fetch.log" >&3
        echo "# the tests go on with a lock of today" >&3
        third_party/debian renew "$place/debian.lock"
        export DEBIAN_LOCK=$place/debian.lock
    fi
    ./docker-build.sh release "$place/one" > "$place/one.log" 2>&1 || { tail -n 40 "$place/one.log" >&2; return 1; }
    start_registry
}

teardown_file()
{
    if [ -n "${registry_pid:-}" ]; then kill "$registry_pid"; fi
    docker rmi "ipybox:$(version)" > /dev/null 2>&1 || true
}

# A registry without TLS, empty at first.
start_registry()
{
    local port
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    printf 'version: 0.1\nstorage: {filesystem: {rootdirectory: %s}}\nhttp: {addr: 127.0.0.1:%s}\n' "$place/registry" "$port" > "$place/registry.yml"
    docker-registry serve "$place/registry.yml" > "$place/registry.log" 2>&1 3>&- &
    export registry_pid=$! repository=127.0.0.1:$port/ipybox IPYBOX_REGISTRY=http COSIGN_PASSWORD=secret
    until curl -fs "127.0.0.1:$port/v2/" > /dev/null; do kill -0 "$registry_pid"; sleep 0.2; done
}

version()
{
    sed -n 's/.*opencontainers.image.version="\(.*\)".*/\1/p' "$top/Dockerfile"
}

# The configuration of the release's image for this machine.
config()
{
    local index manifest
    index=$(jq -r '.manifests[0].digest' "$place/one/images/index.json")
    manifest=$(jq -r '.manifests[0].digest' "$(blob "$index")")
    cat "$(blob "$(jq -r .config.digest "$(blob "$manifest")")")"
}

blob()
{
    echo "$place/one/images/blobs/${1/:/\/}"
}

@test "two builds give the same images and papers, to the byte" {
    cd "$top"
    AGAIN=$(date +%s%N) ./docker-build.sh release "$place/two" > "$place/two.log" 2>&1 || { tail -n 40 "$place/two.log"; return 1; }
    cat "$place/one/digests"
    # Debian's packages were in fact installed a second time.
    grep -q 'Setting up python3 ' "$place/two.log"
    diff "$place/one/SHA256SUMS" "$place/two/SHA256SUMS"
    diff -r "$place/one/images" "$place/two/images"
    rm -r "$place/two"
}

@test "an image of the release is loaded with its digest as ID, and executes cells" {
    tar -C "$place/one/images" -c . | docker load
    local id
    id=$(docker image inspect --format '{{.Id}}' "ipybox:$(version)")
    grep -F "image ID $id" "$place/one/digests"
    cd "$top"
    IPYBOX_TEST_IMAGE=ipybox:$(version) IPYBOX_TEST_SLIM_IMAGE=ipybox:$(version) \
        bats --setup-suite-file tests/container/setup_suite.bash -f 'handshake era executes cells' tests/container/00-first-cell.bats
}

@test "the labels say what it is, of which commit and on which base" {
    local word labels
    labels=$(config | jq .config.Labels)
    for word in title description version licenses source url documentation revision created base.name base.digest; do
        jq -er ".[\"org.opencontainers.image.$word\"] | select(length > 0)" <<< "$labels"
    done
    [ "$(jq -r '.["org.opencontainers.image.revision"]' <<< "$labels" | cut -c1-40)" = "$(git -C "$top" rev-parse HEAD)" ]
    jq -er '.["org.opencontainers.image.base.digest"] | test("^sha256:[0-9a-f]{64}$")' <<< "$labels"
    [ "$(jq -r '.["io.modelcontextprotocol.server.name"]' <<< "$labels")" = io.github.gradion-ai/ipybox ]
}

@test "what Debian has in the image is what the lock names" {
    local lock=${DEBIAN_LOCK:-$top/third_party/debian.lock} package
    jq -r '.packages[].externalRefs[]?.referenceLocator | select(startswith("pkg:deb/") and (contains("arch=source") | not))' \
        "$place/one/sbom/ipybox-$(version)-$machine.spdx.json" | sed 's|pkg:deb/debian/\(.*\)@\(.*\)?.*|\1 \2|; s/%2B/+/g' | sort > "$place/there"
    awk -v arch="$machine" '!/^#/ && $4 == arch { print $1, $2 }' "$lock" | sort > "$place/locked"
    [ "$(wc -l < "$place/there")" -gt 100 ]
    [ "$(comm -23 "$place/there" "$place/locked")" = "" ]
}

@test "SPDX and CycloneDX documents are valid, and name every library inside the binary" {
    "$SUPPLY_VENV/bin/python" "$BATS_TEST_DIRNAME/documents.py" "$place/one/sbom" "$top/third_party/PINS"
}

@test "the provenance names images, commit, archives and packages" {
    local one=$place/one/provenance.json
    [ "$(jq -r ._type "$one")" = https://in-toto.io/Statement/v1 ]
    [ "$(jq -r .predicateType "$one")" = https://slsa.dev/provenance/v1 ]
    [ "sha256:$(jq -r '.subject[0].digest.sha256' "$one")" = "$(jq -r '.manifests[0].digest' "$place/one/images/index.json")" ]
    jq -e '[.predicate.buildDefinition.resolvedDependencies[].name] | index("third_party/debian.lock") and any(. != null and startswith("curl_"))' "$one"
    [ "$(jq -r '.predicate.buildDefinition.resolvedDependencies[0].digest.gitCommit' "$one")" = "$(git -C "$top" rev-parse HEAD)" ]
}

@test "what was signed is verified with its key, and with no other; what was changed is not" {
    cd "$top"
    local cosign image
    cosign=$(release/cosign)
    (cd "$place" && "$cosign" generate-key-pair --output-key-prefix right && "$cosign" generate-key-pair --output-key-prefix wrong)
    # By variable, as the workflow of releases has it.
    COSIGN_KEY=env://COSIGN_PRIVATE_KEY COSIGN_PRIVATE_KEY=$(< "$place/right.key") release/sign "$place/one" "$repository"
    run release/verify "$repository:$(version)" "$place/right.pub"
    echo "$output"
    [ "$status" -eq 0 ]
    grep "built of revision $(git rev-parse HEAD)" <<< "$output"
    grep "$machine: spdxjson, parts: [0-9][0-9][0-9]" <<< "$output"
    grep "$machine: cyclonedx, parts: [0-9][0-9][0-9]" <<< "$output"
    run release/verify "$repository:$(version)" "$place/wrong.pub"
    [ "$status" -ne 0 ]
    # The same tag, another image.
    jq '.config.Env += ["EVIL=1"]' < <(config) > "$place/evil.json"
    skopeo copy -q --src-tls-verify=false --dest-tls-verify=false --format v2s2 "docker://$repository:$(version)" "docker://$repository:$(version)"
    run release/verify "$repository:$(version)" "$place/right.pub"
    [ "$status" -ne 0 ]
    # Without cosign: openssl knows the key and the signature of the sums.
    base64 -d "$place/one/SHA256SUMS.sig" > "$place/signature"
    openssl dgst -sha256 -verify "$place/right.pub" -signature "$place/signature" "$place/one/SHA256SUMS"
    (cd "$place/one" && sha256sum -c SHA256SUMS)
}

@test "a lock that nobody can satisfy is an error that says how to renew it" {
    echo 'nothing 1.0 deb amd64 nothing_1.0_amd64.deb 00 00 pool/main/n/nothing/nothing_1.0_amd64.deb' > "$place/lock"
    run env DEBIAN_LOCK="$place/lock" DEBIAN_MIRROR=http://127.0.0.1:1 DEBIAN_FOLDER="$place/debs" "$top/third_party/debian" fetch amd64
    echo "$output"
    [ "$status" -ne 0 ]
    grep 'nothing_1.0_amd64.deb' <<< "$output"
    grep 'third_party/debian renew' <<< "$output"
}

@test "with a lock no package that it does not name is left in an image" {
    mkdir -p "$place/empty"
    cp "$top/third_party/install-debs" "$place/empty/install"
    : > "$place/empty/Packages"
    run docker run --rm -v "$place/empty:/debs:ro" "$(docker images --format '{{.Repository}}:{{.Tag}}' "ipybox-base:lock-*-$machine" | head -n 1)" /debs/install apt
    echo "$output"
    [ "$status" -ne 0 ]
    grep '^libc6 ' <<< "$output"
    grep 'third_party/debian renew' <<< "$output"
}

@test "the workflow that publishes is in form" {
    "$BATS_TEST_DIRNAME/actionlint" "$top"/.github/workflows/*.yml
}
