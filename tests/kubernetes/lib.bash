# What every test file here loads: the cluster of IPYBOX_KUBERNETES, which `tests/kubernetes/up` has started with the images.
# shellcheck shell=bash

cluster=${IPYBOX_KUBERNETES:?is the DIR of tests/kubernetes/up}
tests=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
deploy=$(cd "$tests/../../deploy" && pwd)
# shellcheck source=../container/lib/helpers.bash
source "$tests/../container/lib/helpers.bash"

setup() { :; }
teardown() { :; }

# k WORD... - kubectl in the namespace of deploy/kubernetes
k()
{
    limit=$whole limited "$cluster/k" kubectl -n agents "$@"
}

# document FILE NUMBER [FILTER OF jq] - one document of a file of deploy/, as JSON
document()
{
    k create --dry-run=client -o json -f "$deploy/$1" | jq -s "(map(if .kind == \"List\" then .items[] else . end))[$2] | ${3:-.}"
}

# sidecar NAME [FILTER] - starts the pod of sidecar.yaml under this name, with an agent that waits until it is to end.
sidecar()
{
    document kubernetes/sidecar.yaml 0 "
        .metadata.name = \"$1\"
        | .spec.containers[0].args = [\"import signal; signal.sigwait([signal.SIGTERM])\"]
        | ${2:-.}" | k create -f - >/dev/null
}

# is_ready POD
is_ready()
{
    k wait --for=condition=Ready "pod/$1" --timeout="${guard}s"
}

# field POD FILTER - of what the cluster knows of it
field()
{
    k get pod "$1" -o json | jq -r "$2"
}

# server_of POD FILTER - of the state of its container `ipybox`
server_of()
{
    field "$1" "[.status.initContainerStatuses // [], .status.containerStatuses // []] | add | map(select(.name == \"ipybox\"))[0] | $2"
}

# ask URL [OPTION OF curl]... - the answer, with the agent's token
ask()
{
    "$cluster/k" curl -sS -m "$guard" -H 'X-Ipybox-Token: change-me-agent' -H 'Content-Type: application/json' "$@"
}

# cell ADDRESS CODE [SESSION] - the answer to a cell
cell()
{
    jq -n --arg code "$2" '{code: $code}' | ask "http://$1:8080/v1/sessions/${3:-default}/executions" -d @-
}

# prints ADDRESS CODE TEXT
prints()
{
    assert_equal "$(cell "$1" "$2" | jq -r .text)" "$3"
}

# timed_cell NAME ADDRESS - how long the server takes to answer is a figure
timed_cell()
{
    local answer
    answer=$(ask "http://$2:8080/v1/sessions/default/executions" -d '{"code": "6 * 7"}' -w '\n%{time_total}')
    assert_equal "$(head -n 1 <<< "$answer" | jq -r .text)" 42
    figure "$1" "$(tail -n 1 <<< "$answer" | awk '{ print int($1 * 1000) }')"
}

# figure NAME MILLISECONDS - for the table at the end
figure()
{
    printf '%-85s %6d ms\n' "$1" "$2" >> "$cluster/figures"
}

# takes NAME COMMAND... - how long it takes is a figure
takes()
{
    local start name=$1
    shift
    start=$(milliseconds)
    "$@"
    figure "$name" $(($(milliseconds) - start))
}
