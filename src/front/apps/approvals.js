// SPDX-License-Identifier: Apache-2.0
//
// The page of what waits for a human.

function tellCount(found) {
  $("status").className = found instanceof Error ? "bad" : "";
  $("status").textContent = found instanceof Error ? found.message : found ? `Waiting for a human: ${found}` : "Nothing waits for a human.";
}

connect("ipybox approvals", {}).then(() => {
  if (host.serverResources) watchApprovals("ipybox://session/approvals.json", () => true, tellCount);
  else tellCount(new Error("This host does not let a page read what waits."));
});
