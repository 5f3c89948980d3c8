# Run once, before the first test of the folder. The image is not built here: `./docker-build.sh test` has done that.
# shellcheck shell=bash
# shellcheck source=lib/helpers.bash
source "$(dirname "${BASH_SOURCE[0]}")/lib/helpers.bash"

setup_suite()
{
    export BATS_TEST_TIMEOUT=$whole
    # Names of our own, so that a build during the run changes and removes nothing.
    suite_tag=ipybox-test:run-$$
    keep_image "${IPYBOX_TEST_IMAGE:-ipybox}" "$suite_tag"
    keep_image "${IPYBOX_TEST_SLIM_IMAGE:-ipybox:slim}" "$suite_tag-slim"
    export IPYBOX_TEST_IMAGE=$suite_tag IPYBOX_TEST_SLIM_IMAGE=$suite_tag-slim
    {
        bash --version | head -n 1
        python3 --version
        docker version --format 'docker {{.Client.Version}}, engine {{.Server.Version}}'
        docker info --format 'cgroup v{{.CgroupVersion}}, {{.Driver}}, {{.KernelVersion}}, {{.NCPU}} processors'
        docker run --rm "$IPYBOX_TEST_IMAGE" --version
        docker run --rm --entrypoint python3 "$IPYBOX_TEST_IMAGE" --version
    } 2>&1 | sed 's/^/# /' >&3
}

teardown_suite()
{
    limited docker rmi "$suite_tag" "$suite_tag-slim" >/dev/null
}

keep_image()
{
    if ! limited docker tag "$1" "$2"; then
        echo "There is no image $1: ./docker-build.sh makes it (for ipybox:slim: --target slim -t ipybox:slim)." >&2
        return 1
    fi
}
