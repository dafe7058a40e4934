import { createHash } from "node:crypto";
import program from "./browser/main.tsx?bundle";
import style from "./browser/page.css?bundle";

/** The page loads nothing and runs only its own program. The data contains no `<`, which would end the script element. */
const POLICY = [
  "default-src 'none'",
  `script-src ${hashOf(program)}`,
  `style-src ${hashOf(style)}`,
  "base-uri 'none'",
  "form-action 'none'",
  "require-trusted-types-for 'script'",
];

/** The part of the page before the lines of `factLine`. The program starts while the browser reads them. */
export const PAGE_HEAD = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY.join("; ")}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>kubelab trace</title>
<style>${style}</style>
<script type="module" async>${program}</script>
</head>
<body>
<div id="page"></div>
<div id="printed"></div>
<script type="application/json" id="facts">
`;

function hashOf(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}
