# A Job with the sidecar: its server does not hold the Job open.
load lib

@test "a Job with the sidecar is complete when its agent has ended" {
    document kubernetes/sidecar.yaml 0 '{
        apiVersion: "batch/v1", kind: "Job", metadata: {name: "job", namespace: .metadata.namespace},
        spec: {backoffLimit: 0, template: {spec: .spec}}}' | k create -f -
    takes "Job: from creation to Complete" k wait --for=condition=Complete job/job --timeout="${guard}s"
    assert_equal "$(k logs job/job -c agent)" 42
}
