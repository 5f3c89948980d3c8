// SPDX-License-Identifier: Apache-2.0
//
// Light or dark: as the system has it, until the user says otherwise.

import { computed, effect, signal } from "@preact/signals";

const KEY = "ipybox-theme";
const system = window.matchMedia("(prefers-color-scheme: dark)");
const chosen = signal(localStorage.getItem(KEY) ?? "");
const systemDark = signal(system.matches);
system.addEventListener("change", ({ matches }) => {
  systemDark.value = matches;
});

export const dark = computed(() => (chosen.value ? chosen.value === "dark" : systemDark.value));

effect(() => {
  document.documentElement.dataset.theme = dark.value ? "dark" : "light";
});

export function toggleTheme(): void {
  chosen.value = dark.value ? "light" : "dark";
  localStorage.setItem(KEY, chosen.value);
}
