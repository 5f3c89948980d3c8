# statefulset.yaml: each pod has a name, a workspace and sessions of its own.
load lib

setup_file()
{
    local number
    for number in 0 1; do
        "$cluster/k" mkdir -p "/var/lib/volumes/$number"
        jq -n --arg number "$number" '{
            apiVersion: "v1", kind: "PersistentVolume", metadata: {name: "volume-\($number)"},
            spec: {capacity: {storage: "1Gi"}, accessModes: ["ReadWriteOnce"], local: {path: "/var/lib/volumes/\($number)"},
                nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: "kubernetes.io/hostname", operator: "Exists"}]}]}}}}' |
            k create -f - >/dev/null
    done
    k apply -f "$deploy/kubernetes/statefulset.yaml" >/dev/null
}

# at NAME PATH [OPTION]... - a request of the name that the headless Service gives a pod: there is no DNS here, so that curl is told its address.
at()
{
    local name=$1 path=$2 address
    shift 2
    address=$(k get endpointslices -l kubernetes.io/service-name=ipybox -o json |
        jq -r --arg name "$name" '.items[].endpoints[] | select(.hostname == $name) | .addresses[0]')
    ask --resolve "$name.ipybox:8080:$address" "http://$name.ipybox:8080$path" "$@"
}

answers()
{
    at "$1" /readyz | jq -e '.status == "ok"'
}

@test "a StatefulSet of two becomes ready, and each pod has its name and its volume" {
    takes "StatefulSet of two: to ready" k rollout status statefulset/ipybox --timeout="${guard}s"
    assert_equal "$(at ipybox-0 /readyz | jq -r .instance)" ipybox-0
    assert_equal "$(at ipybox-1 /readyz | jq -r .instance)" ipybox-1
}

@test "a session is found again by its instance, and a pod that is not meant names the owner" {
    local session answer
    session=$(at ipybox-1 /v1/sessions -d '{"id": "ada"}')
    assert_equal "$(jq -r .instance <<< "$session")" ipybox-1
    at ipybox-1 /v1/sessions/ada/executions -H 'Ipybox-Instance: ipybox-1' -d '{"code": "x = 6 * 7"}' | jq -e '.status == "ok"'
    answer=$(at ipybox-0 /v1/sessions/ada/executions -H 'Ipybox-Instance: ipybox-1' -d '{"code": "x"}' -w '\n%{http_code}')
    assert_equal "$(tail -n 1 <<< "$answer")" 421
    assert_equal "$(head -n 1 <<< "$answer" | jq -r .owner)" ipybox-1
    at ipybox-1 /v1/sessions/ada/executions -H 'Ipybox-Instance: ipybox-1' -d '{"code": "x"}' | jq -e '.text == "42" and .instance == "ipybox-1"'
}

@test "the workspace of a pod outlives it, under the same name" {
    at ipybox-0 /v1/sessions/default/executions -d '{"code": "print(open(\"kept\", \"w\").write(\"x\"))"}' | jq -e '.text == "1"'
    k delete pod ipybox-0
    wait_for answers ipybox-0
    at ipybox-0 /v1/sessions/default/executions -d '{"code": "print(open(\"kept\").read())"}' | jq -e '.text == "x" and .instance == "ipybox-0"'
}
