import type { PageContent } from "../page-server.js";
import LIVE_CSS from "./live.css?raw";
import LIVE_JS from "./live.js?raw";

/** The files of one inspector's page: its state on one side, the trace as it grows on the other. */
export interface LivePage {
  /** loads `/live.css`, `/page.css` and `/page.js` */
  readonly html: string;
  readonly css: string;
  /** a module: imports `/live.js` and calls its `follow` */
  readonly script: string;
}

/** The page's files, and those that all pages share. */
export function livePageFiles({ html, css, script }: LivePage): PageContent["files"] {
  return {
    "/": ["text/html; charset=utf-8", html],
    "/live.js": ["text/javascript; charset=utf-8", LIVE_JS],
    "/page.js": ["text/javascript; charset=utf-8", script],
    "/live.css": ["text/css; charset=utf-8", LIVE_CSS],
    "/page.css": ["text/css; charset=utf-8", css],
  };
}
