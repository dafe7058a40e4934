import { readFile } from "node:fs/promises";
import { PAGE_TAIL } from "./facts.js";

/** Set in the bundled program: the file next to it with the page's head. */
declare const KUBELAB_PAGE_HEAD: string | undefined;

/** The part of the page before the facts. Reading it as a file is several times faster than loading it as a module. */
export async function pageHead(): Promise<string> {
  if (typeof KUBELAB_PAGE_HEAD === "string") return readFile(new URL(KUBELAB_PAGE_HEAD, import.meta.url), "utf8");
  return (await import("./page.js")).PAGE_HEAD;
}

/** The head of a running command's page, which loads its facts from its server. */
const LIVE = [
  ['<html lang="en">', '<html lang="en" data-live>'],
  ["require-trusted-types-for 'script'", "require-trusted-types-for 'script'; connect-src 'self'; img-src data:"],
  ["<title>kubelab trace</title>", '<title>kubelab</title>\n<link rel="icon" href="data:,">'],
] as const;

/** The page of a running command. */
export async function livePage(): Promise<string> {
  const head = LIVE.reduce((text, [of, live]) => text.replace(of, live), await pageHead());
  return head + PAGE_TAIL;
}
