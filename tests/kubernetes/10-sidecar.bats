# The sidecar of deploy/kubernetes in a namespace of the profile "restricted": docs/kubernetes.md.
load lib

setup_file()
{
    sidecar alone
}

address()
{
    field alone .status.podIP
}

ended_well()
{
    assert_equal "$(field agent .status.phase)" Succeeded
}

@test "the images of an engine are the cluster's" {
    local images
    images=$("$cluster/k" ctr -n k8s.io images ls -q)
    assert_match "$images" 'docker.io/library/ipybox:latest'
    assert_match "$images" 'docker.io/library/ipybox:nonroot'
}

@test "sidecar.yaml as it is: the agent runs its cell and ends, and so does the pod" {
    run_the_agent()
    {
        k apply -f "$deploy/kubernetes/sidecar.yaml"
        k wait --for=jsonpath='{.status.phase}'=Succeeded pod/agent --timeout="${guard}s"
    }
    takes "sidecar.yaml: from apply to the end of the agent" run_the_agent
    assert_equal "$(k logs agent -c agent)" 42
    assert_equal "$(server_of agent .state.terminated.exitCode)" 0
    assert_equal "$(server_of agent .restartCount)" 0
}

@test "a sidecar becomes ready, and answers the first cell" {
    takes "sidecar: from creation to Ready" sidecar_is_ready
    timed_cell "sidecar: the first cell" "$(field first .status.podIP)"
    timed_cell "sidecar: the second cell" "$(field first .status.podIP)"
    k delete pod first --wait=false
}

sidecar_is_ready()
{
    sidecar first
    is_ready first
}

@test "cells have any uid, a read-only root and no rights, and isolation is full" {
    is_ready alone
    prints "$(address)" "import os; print(os.getuid(), os.getgid(), os.access('/', os.W_OK))
print([line.split()[1] for line in open('/proc/self/status') if line.startswith('CapEff')][0])" \
        "1000680000 1000680000 False"$'\n'0000000000000000
    k exec alone -c ipybox -- ipybox doctor | tee "$BATS_TEST_TMPDIR/doctor"
    assert_match "$(< "$BATS_TEST_TMPDIR/doctor")" 'full'
    assert_match "$(< "$BATS_TEST_TMPDIR/doctor")" '32 of 32'
}

@test "the processors and the memory that a cell sees are those of its limits" {
    is_ready alone
    prints "$(address)" "import os; os.cpu_count()" 1
    assert_match "$(k logs alone -c ipybox)" 'kernel-memory'
}

@test "a cell can neither read the tokens nor look into process 1" {
    is_ready alone
    prints "$(address)" "import os
for name in 'environ', 'mem', 'maps':
    try: print(open(f'/proc/1/{name}', 'rb').read(1))
    except PermissionError: print('refused')
print([name for name in ('IPYBOX_TOKEN', 'IPYBOX_EXECUTE_TOKEN') if name in os.environ])" $'refused\nrefused\nrefused\n[]'
}

@test "a pod that Pod Security forbids is refused, so the namespace is what it says" {
    local said
    said=$(document kubernetes/sidecar.yaml 0 '.metadata.name = "forbidden" | .spec.initContainers[0].securityContext.allowPrivilegeEscalation = true' |
        k create -f - 2>&1 || true)
    assert_match "$said" 'violates PodSecurity "restricted'
}
