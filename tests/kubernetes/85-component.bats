# The kustomize component of deploy/ on a Deployment that knows the label and the address alone.
load lib

component()
{
    cat > "$BATS_TEST_TMPDIR/agent.yaml" <<'YAML'
apiVersion: apps/v1
kind: Deployment
metadata: {name: any, labels: {ipybox: sidecar}}
spec:
  selector: {matchLabels: {app: any}}
  template:
    metadata: {labels: {app: any}}
    spec:
      containers:
      - name: agent
        image: docker.io/library/ipybox:nonroot
        command: [sleep, infinity]
YAML
    cat > "$BATS_TEST_TMPDIR/kustomization.yaml" <<YAML
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: component
resources: [agent.yaml]
components: [$(realpath --relative-to "$BATS_TEST_TMPDIR" "$deploy/kustomize/sidecar")]
secretGenerator:
- name: ipybox
  literals: [token=change-me-administrator, execute-token=change-me-agent]
  options: {disableNameSuffixHash: true}
YAML
    k -n component apply -k "$BATS_TEST_TMPDIR"
    k -n component rollout status deployment/any --timeout="${guard}s"
}

@test "the component adds a sidecar that runs the agent's cells" {
    k create namespace component
    takes "component: from apply to available" component
    prints "$(k -n component get pods -l app=any -o jsonpath='{.items[0].status.podIP}')" "6 * 7" 42
}
