# Seconds, for whatever is waited for; it only ends what would hang. The tests have it of ../container/lib/helpers.bash.
# shellcheck shell=bash disable=SC2034  # for run, up and down
guard=180
