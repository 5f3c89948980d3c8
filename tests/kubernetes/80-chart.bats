# The chart of deploy/helm in a namespace of the profile "restricted": installed, tested by its own test, upgraded, removed.
load lib

setup_file()
{
    k create namespace chart
    k label namespace chart pod-security.kubernetes.io/enforce=restricted
}

# helm WORD... - there is no storage class here, so that the workspace is an emptyDir; nothing goes to the caller's home.
helm()
{
    limit=$whole limited "$cluster/k" env "HOME=$BATS_FILE_TMPDIR" "${IPYBOX_HELM:-$("$tests/../peer/deploy/tools/build")/helm}" -n chart "$@"
}

install()
{
    helm upgrade --install box "$deploy/helm/ipybox" --set workspace.ephemeral=true --wait --timeout "${guard}s" "$@"
}

token()
{
    k -n chart get secrets -o json | jq -r '[.items[].data["execute-token"] // empty][0]'
}

@test "the chart is installed, and its own test passes" {
    takes "chart: from helm install to ready" install
    helm test box --logs --timeout "${guard}s" > "$BATS_TEST_TMPDIR/said" || fail "$(< "$BATS_TEST_TMPDIR/said")"
    assert_match "$(< "$BATS_TEST_TMPDIR/said")" 'without a token: refused'
}

@test "an upgrade keeps the tokens, and the server has what it says" {
    local before
    before=$(token)
    assert_match "$before" '.{20}'
    install --set replicas=2 --set stopGraceSeconds=20
    assert_equal "$(token)" "$before"
    assert_equal "$(k -n chart get pods -l app.kubernetes.io/instance=box -o json |
        jq '[.items[] | select(.status.containerStatuses[0].ready and (.spec.containers[0].args | index("20")))] | length')" 2
}

@test "after its removal no pod and no service is left" {
    helm uninstall box --wait --timeout "${guard}s"
    assert_equal "$(k -n chart get statefulsets,services,configmaps,networkpolicies,poddisruptionbudgets -o name | grep -v kube-root-ca || true)" ""
    wait_for no_pod
}

no_pod()
{
    [ -z "$(k -n chart get pods -l app.kubernetes.io/instance=box -o name)" ]
}
