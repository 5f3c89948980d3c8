// SPDX-License-Identifier: Apache-2.0
//
// Text with SGR sequences as elements: classes for the sixteen colours, which the theme decides, styles for others.

import Anser from "anser";
import type { JSX } from "preact";

const URL_PATTERN = /\bhttps?:\/\/[^\s<>"')\]]+/g;

function withLinks(text: string): (string | JSX.Element)[] {
  const parts: (string | JSX.Element)[] = [];
  let at = 0;
  for (const match of text.matchAll(URL_PATTERN)) {
    parts.push(
      text.slice(at, match.index),
      <a href={match[0]} target="_blank" rel="noopener noreferrer">
        {match[0]}
      </a>,
    );
    at = match.index + match[0].length;
  }
  parts.push(text.slice(at));
  return parts;
}

const color = (name: string | null, rgb: string | null): Record<string, string> =>
  name === null && rgb ? { color: `rgb(${rgb})` } : {};

export function Ansi({ text }: { text: string }): JSX.Element {
  if (!text.includes("\u001b")) return <>{withLinks(text)}</>;
  return (
    <>
      {Anser.ansiToJson(text, { json: true, remove_empty: true, use_classes: true }).map((piece) => {
        const fg = piece.fg && !piece.fg.includes("truecolor") && !piece.fg.includes("palette") ? piece.fg : null;
        const bg = piece.bg && !piece.bg.includes("truecolor") && !piece.bg.includes("palette") ? piece.bg : null;
        const classes = [fg && `${fg}-fg`, bg && `${bg}-bg`, ...(piece.decorations ?? [])].filter(Boolean).join(" ");
        return (
          <span class={classes} style={{ ...color(fg, piece.fg_truecolor) }}>
            {withLinks(piece.content)}
          </span>
        );
      })}
    </>
  );
}
