# The pods of statefulset.yaml as a Deployment behind a Service with an address, and what happens to a cell whose pod is deleted.
load lib

setup_file()
{
    document kubernetes/statefulset.yaml 0 '
        .kind = "Deployment" | .metadata.name = "box" | del(.status, .spec.serviceName, .spec.podManagementPolicy, .spec.volumeClaimTemplates)
        | .spec.selector.matchLabels.app = "box" | .spec.template.metadata.labels.app = "box"
        | .spec.template.spec.volumes += [{name: "workspace", emptyDir: {sizeLimit: "1Gi"}}]' | k create -f - >/dev/null
    document kubernetes/statefulset.yaml 1 '.metadata.name = "box" | .spec.selector.app = "box" | del(.spec.clusterIP)' | k create -f - >/dev/null
}

service()
{
    k get service box -o jsonpath='{.spec.clusterIP}'
}

ready_addresses()
{
    k get endpointslices -l kubernetes.io/service-name=box -o json |
        jq -r '.items[].endpoints[] | select(.conditions.ready) | .addresses[0]'
}

has_left()
{
    ! ready_addresses | grep -qFx "$1"
}

@test "a Deployment of two becomes available" {
    takes "Deployment of two: to available" k rollout status deployment/box --timeout="${guard}s"
}

@test "its Service answers as soon as a pod is ready" {
    wait_for says "$(service)" 200
    ask "http://$(service):8080/v1/sessions" -d '{}' | jq -e '.instance | startswith("box-")'
}

@test "a pod that is deleted ends its cell, says 503 and leaves the Service meanwhile" {
    local pod address running
    pod=$(k get pods -l app=box -o jsonpath='{.items[0].metadata.name}')
    address=$(field "$pod" .status.podIP)
    cell "$address" "import os, time
open('begun', 'w').close()
while not os.path.exists('go'): time.sleep(0.05)
print('finished')" > "$BATS_TEST_TMPDIR/answer" & running=$!
    wait_for k exec "$pod" -- test -e /app/workspace/begun
    k delete pod "$pod" --wait=false
    wait_for says "$address" 503
    wait_for has_left "$address"
    assert_equal "$(cell "$address" 6*7 | jq -r .detail)" "the server is stopping"
    k exec "$pod" -- touch /app/workspace/go
    wait "$running"
    assert_equal "$(jq -r .text "$BATS_TEST_TMPDIR/answer")" finished
    takes "a deleted pod: from the end of its cell to its own" k wait --for=delete "pod/$pod" --timeout="${guard}s"
}

says()
{
    [ "$(ask -o /dev/null -w '%{http_code}' "http://$1:8080/readyz")" = "$2" ]
}
