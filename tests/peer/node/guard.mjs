// SPDX-License-Identifier: Apache-2.0
//
// As GUARD of box.py: for whatever is waited for, in milliseconds. It only ends what would hang: no test passes or fails by it.
export const GUARD = 180_000;
