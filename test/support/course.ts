import { readFileSync } from "node:fs";

/** A code block of a page: `sh` is typed here, `sh elsewhere` needs kind, systemd or another machine. */
export interface CodeBlock {
  readonly info: string;
  readonly text: string;
}

/** The code blocks of a page of Markdown, in their order. */
export function codeBlocks(path: string): readonly CodeBlock[] {
  return Array.from(readFileSync(path, "utf8").matchAll(/^```(.*)\n([\s\S]*?)^```$/gm), ([, info = "", text = ""]) => ({
    info,
    text,
  }));
}
