# Run once, before the first test of the folder. The image is not built here: `./docker-build.sh test` has done that.
# shellcheck shell=bash

setup_suite()
{
    export BATS_TEST_TIMEOUT=${BATS_TEST_TIMEOUT:-180}
    # Ids, so that a build during the run changes nothing.
    IPYBOX_TEST_IMAGE=$(image_id "${IPYBOX_TEST_IMAGE:-ipybox}")
    IPYBOX_TEST_SLIM_IMAGE=$(image_id "${IPYBOX_TEST_SLIM_IMAGE:-ipybox:slim}")
    export IPYBOX_TEST_IMAGE IPYBOX_TEST_SLIM_IMAGE
    {
        bash --version | head -n 1
        python3 --version
        docker version --format 'docker {{.Client.Version}}, engine {{.Server.Version}}'
        docker info --format 'cgroup v{{.CgroupVersion}}, {{.Driver}}, {{.KernelVersion}}, {{.NCPU}} processors'
        docker run --rm "$IPYBOX_TEST_IMAGE" --version
        docker run --rm --entrypoint python3 "$IPYBOX_TEST_IMAGE" --version
    } 2>&1 | sed 's/^/# /' >&3
}

image_id()
{
    if ! timeout 60 docker image inspect --format '{{.Id}}' "$1"; then
        echo "There is no image $1: ./docker-build.sh makes it (for ipybox:slim: --target slim -t ipybox:slim)." >&2
        return 1
    fi
}
