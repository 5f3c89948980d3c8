// SPDX-License-Identifier: Apache-2.0
//
// node build.mjs OUT - the console as the server gives it out: index.html and a folder console/ with its scripts, each
// also as .gz. Nothing is loaded from elsewhere; equal sources give equal bytes.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2];
if (!out) {
  console.error("usage: node build.mjs OUT");
  process.exit(2);
}

const common = {
  bundle: true,
  minify: true,
  write: false,
  target: ["es2022"],
  legalComments: "none",
  define: { "process.env.NODE_ENV": '"production"' },
  logLevel: "warning",
  absWorkingDir: here,
};

async function script(entry, format) {
  const made = await build({
    ...common,
    entryPoints: [entry],
    format,
    ...(entry.endsWith(".tsx") && { jsx: "automatic", jsxImportSource: "preact" }),
  });
  return made.outputFiles[0].text;
}

async function style(entry) {
  const made = await build({ ...common, entryPoints: [entry], bundle: false });
  return made.outputFiles[0].text;
}

mkdirSync(join(out, "console"), { recursive: true });
const put = (name, text) => {
  writeFileSync(join(out, name), text);
  writeFileSync(join(out, `${name}.gz`), gzipSync(text, { level: 9 }));
};

put("index.html", readFileSync(join(here, "src/index.html"), "utf8"));
put("console/icon.svg", readFileSync(join(here, "src/icon.svg"), "utf8"));
put("console/main.css", await style("src/main.css"));
// No module: browsers send an Origin with the request for one, which a proxy that changes Host makes a foreign one.
put("console/main.js", await script("src/main.tsx", "iife"));
for (const name of ["math", "vega", "plotly"]) put(`console/${name}.js`, await script(`src/frame/${name}.ts`, "iife"));
// A script inside HTML ends at the first "</script".
const inline = (text) => text.replaceAll("</script", "<\\/script");
async function page(name, css) {
  const text = readFileSync(join(here, `src/frame/${name}.html`), "utf8");
  const code = inline(await script(`src/frame/${name}.ts`, "iife"));
  put(`console/${name}.html`, text.replace("/*STYLE*/", () => css).replace("/*SCRIPT*/", () => code));
}
await page("frame", "");
await page("terminal", await style("node_modules/@xterm/xterm/css/xterm.css"));
