import type { PageContent } from "../page-server.js";
import { LIVE_CSS } from "./css.js";
import { LIVE_JS } from "./script.js";

/** What a page has of its own, as HTML, CSS and JavaScript, beside what all pages share. */
export interface LivePage {
  /** `kubelab pleg` */
  readonly command: string;
  readonly title: string;
  /** the id of the line in the header that says what is looked at */
  readonly subject: string;
  readonly heading: string;
  /** what stands under the heading, with a row of class `entry` for each thing shown */
  readonly body: string;
  readonly css: string;
  /** defines `show(state)`, with what the shared script has */
  readonly script: string;
}

/** The files of a page that follows live: what it shows on one side, on the other the trace as it comes. */
export function livePageFiles(page: LivePage): PageContent["files"] {
  const script = `${LIVE_JS.trimEnd()}${page.script}follow(${JSON.stringify(page.command)}, show);\n`;
  return {
    "/": ["text/html; charset=utf-8", html(page)],
    "/page.js": ["text/javascript; charset=utf-8", script],
    "/page.css": ["text/css; charset=utf-8", `${LIVE_CSS.trimEnd()}${page.css}`],
  };
}

function html({ command, title, subject, heading, body }: LivePage): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${command}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/page.css">
<script src="/page.js" defer></script>
</head>
<body>
<header>
<h1>${title}</h1>
<p id="${subject}">connecting</p>
<p id="health" role="status"></p>
</header>
<main>
<section aria-labelledby="pods-title">
<h2 id="pods-title">${heading}</h2>
${body.trim()}
</section>
<section aria-labelledby="trace-title">
<h2 id="trace-title">What happens, newest first</h2>
<ol id="facts" aria-live="polite"></ol>
</section>
</main>
</body>
</html>
`;
}
