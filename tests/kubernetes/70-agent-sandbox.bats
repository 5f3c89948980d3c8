# deploy/agent-sandbox with the controller of kubernetes-sigs/agent-sandbox: a pool of warm pods, and claims that take them.
load lib

# Its webhook converts older versions, which nobody asks for here. What kubectl says of an error is shown: bats has no output of setup_file.
setup_file()
{
    local built file
    built=$("$tests/controller/build")
    for file in "$built"/crds/*.yaml; do
        k create --dry-run=client -o json -f "$file" | jq '.spec.conversion = {strategy: "None"}' | k create -f - >/dev/null 2>&3
        wait_for is_established "$file"
    done
    setsid "$cluster/k" "$built/controller" -extensions -enable-webhook=false -leader-elect=false -metrics-bind-address 0 \
        -health-probe-bind-address 0 > "$cluster/agent-sandbox.log" 2>&1 < /dev/null 3>&- &
    echo $! > "$BATS_FILE_TMPDIR/controller"
}

# is_established FILE - `kubectl wait` fails where there is no status yet.
is_established()
{
    k get -f "$1" -o json | jq -e 'any(.status.conditions[]?; .type == "Established" and .status == "True")' >/dev/null
}

teardown_file()
{
    k delete --wait=false -f "$deploy/agent-sandbox/template.yaml"
    k delete --wait=false sandboxclaims --all
    kill -- "-$(< "$BATS_FILE_TMPDIR/controller")"
}

pool_is_warm()
{
    k apply -f "$deploy/agent-sandbox/template.yaml"
    k wait --for=jsonpath='{.status.readyReplicas}'=2 sandboxwarmpool/ipybox --timeout="${guard}s"
}

# claim NAME
claim()
{
    jq -n --arg name "$1" '{apiVersion: "extensions.agents.x-k8s.io/v1beta1", kind: "SandboxClaim",
        metadata: {name: $name}, spec: {warmPoolRef: {name: "ipybox"}}}' | k create -f -
    k wait --for=condition=Ready "sandboxclaim/$1" --timeout="${guard}s"
}

# claimed NAME FILTER - of the sandbox that a claim has
claimed()
{
    k get sandboxclaim "$1" -o json | jq -r ".status.sandbox | $2"
}

# runs CLAIM COMMAND TEXT - over the python-runtime's contract
runs()
{
    local answer
    answer=$(jq -n --arg command "$2" '{command: $command}' | ask "http://$(claimed "$1" '.podIPs[0]'):8888/execute" -d @-)
    assert_equal "$(jq -r .stdout <<< "$answer")" "$3"
}

@test "the template as it is becomes a pool of two warm pods" {
    takes "agent-sandbox: from the template to a pool of two" pool_is_warm
}

@test "a claim has a pod that was warm, runs commands and cells in it, and the pool is filled up" {
    local warm
    warm=$(k get sandboxes -o json | jq -r '.items[].metadata.name')
    takes "agent-sandbox: from the claim to Ready" claim first
    assert_match "$warm" "$(claimed first .name)"
    runs first 'echo kept > note; echo $((6 * 7))' 42
    assert_equal "$(k exec "$(claimed first .name)" -- ipybox exec 'open("note").read()')" "'kept\\n'"
    k wait --for=jsonpath='{.status.readyReplicas}'=2 sandboxwarmpool/ipybox --timeout="${guard}s"
}

@test "another claim has another pod, without the files of the first, which ends with its claim" {
    local pod
    pod=$(claimed first .name)
    takes "agent-sandbox: from a second claim to Ready" claim second
    [ "$(claimed second .name)" != "$pod" ]
    runs second 'ls' ''
    k delete sandboxclaim first --timeout="${guard}s"
    takes "agent-sandbox: from the end of a claim to that of its sandbox (the garbage collector's)" k wait --for=delete "sandbox/$pod" --timeout="${guard}s"
    takes "agent-sandbox: from there to that of its pod" k wait --for=delete "pod/$pod" --timeout="${guard}s"
    runs second 'echo still' still
}

@test "each of ten claims has a warm sandbox of its own, which runs a command" {
    local times
    k patch sandboxwarmpool ipybox --type merge -p '{"spec": {"replicas": 12}}'
    k wait --for=jsonpath='{.status.readyReplicas}'=12 sandboxwarmpool/ipybox --timeout="${guard}s"
    mapfile -t times < <("$cluster/k" "$tests/claims.py" ipybox 10)
    figure "agent-sandbox: from a claim to Ready, median of 10 of a pool of 12" "${times[0]}"
    figure "agent-sandbox: from a claim to its first command's answer, the same" "${times[1]}"
    assert_equal "$(k get sandboxclaims -o json | jq '[.items[].status.sandbox.name] | length - (unique | length)')" 0
}
