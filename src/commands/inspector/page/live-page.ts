import type { PageContent } from "../page-server.js";
import LIVE_CSS from "./live.css?raw";
import LIVE_JS from "./live.js?raw";
import PAGE_HTML from "./page.html?raw";

/** The files of one inspector's page: its state on one side, the trace as it grows on the other. */
export interface LivePage {
  readonly title: string;
  /** the header and the section of the state */
  readonly html: string;
  readonly css: string;
  /** a module: imports `/live.js` and calls its `follow` */
  readonly script: string;
}

/** The page's files, and those that all pages share. */
export function livePageFiles({ title, html, css, script }: LivePage): PageContent["files"] {
  const [header = "", section = ""] = html.split(/(?<=<\/header>\n)/);
  const page = PAGE_HTML.replace("{{title}}", title).replace("{{header}}", header).replace("{{section}}", section);
  return {
    "/": ["text/html; charset=utf-8", page],
    "/live.js": ["text/javascript; charset=utf-8", LIVE_JS],
    "/page.js": ["text/javascript; charset=utf-8", script],
    "/live.css": ["text/css; charset=utf-8", LIVE_CSS],
    "/page.css": ["text/css; charset=utf-8", css],
  };
}
