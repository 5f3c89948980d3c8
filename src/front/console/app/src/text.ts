// SPDX-License-Identifier: Apache-2.0
//
// Texts from elsewhere, made fit to be read.

// What hides or turns a text, escaped: an approver reads what is sent (as the server's base/text/visible.h does).
const hiding =
  /[^\P{C}\n]|[\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\ufe00-\ufe0f\u{e0000}-\u{e0fff}]/gu;

export const visible = (text: unknown): string =>
  String(text).replace(hiding, (c) =>
    c
      .split("")
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join(""),
  );

export const messageOf = (e: unknown): string => (e instanceof Error ? e.message : String(e));

// Jupyter's texts are strings or lists of lines.
export const joined = (value: unknown): string => (Array.isArray(value) ? value.join("") : String(value ?? ""));

const UNITS = ["B", "KB", "MB", "GB", "TB"];

export function bytes(n: number): string {
  let i = 0;
  while (n >= 1000 && i < UNITS.length - 1) {
    n /= 1000;
    i++;
  }
  return `${i === 0 || n >= 100 ? Math.round(n) : n.toFixed(1)} ${UNITS[i]}`;
}

export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const s = ms / 1000;
  if (s < 60) return `${s.toFixed(s < 10 ? 1 : 0)} s`;
  const m = Math.floor(s / 60);
  return m < 60 ? `${m} min ${Math.round(s % 60)} s` : `${Math.floor(m / 60)} h ${m % 60} min`;
}

export const clock = (ms: number): string => new Date(ms).toLocaleTimeString();
