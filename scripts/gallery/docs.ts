import { cp, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Marked, type Tokens } from "marked";
import { escaped, page } from "./html.js";

const FOLDER = "docs";

/** Renders the pages of docs/ and copies their pictures. @returns the names of the pages and their titles */
export async function writeDocs(out: string): Promise<readonly { readonly file: string; readonly title: string }[]> {
  const to = join(out, FOLDER);
  await mkdir(to, { recursive: true });
  const names = (await readdir(FOLDER)).filter((name) => name.endsWith(".md"));
  await cp(join(FOLDER, "images"), join(to, "images"), { recursive: true });
  for (const name of (await readdir(FOLDER)).filter((one) => one.endsWith(".svg")))
    await cp(join(FOLDER, name), join(to, name));
  const pages = await Promise.all(
    names.map(async (name) => ({ name, text: await readFile(join(FOLDER, name), "utf8") })),
  );
  const anchors = new Map(pages.map(({ name, text }) => [name, anchorsOf(text)]));
  for (const { name, text } of pages) {
    const body = rendered(text, name, anchors);
    const language = name.endsWith(".zh.md") ? "zh" : "en";
    const title = titleOf(text, name);
    const nav = `<p><a href="../index${language === "zh" ? ".zh" : ""}.html">kubelab</a></p>`;
    await writeFile(join(to, htmlName(name)), page({ language, title, up: "../", body: `${nav}\n${body}` }));
  }
  return pages.map(({ name, text }) => ({ file: `${FOLDER}/${htmlName(name)}`, title: titleOf(text, name) }));
}

const htmlName = (name: string) => name.replace(/\.md$/, ".html");
const titleOf = (text: string, name: string) => /^# (.+)$/m.exec(text)?.[1]?.replaceAll("`", "") ?? name;

/** GitHub's anchor of a heading. */
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\- _]/gu, "")
    .replaceAll(" ", "-");

function anchorsOf(text: string): ReadonlySet<string> {
  return new Set([...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) => anchorOf(heading)));
}

/** A link leads to another page of docs/, or to the web. What only the repository has is named without a link. */
function rendered(text: string, name: string, anchors: ReadonlyMap<string, ReadonlySet<string>>): string {
  const target = (href: string): string | undefined => {
    if (/^https?:/.test(href)) return href;
    const [file = "", anchor] = href.split("#");
    if (/^(?:images\/)?[\w.-]+\.(?:svg|png)$/.test(file)) return file;
    const known = anchors.get(file || name);
    if (known === undefined) return undefined;
    const end = anchor !== undefined && known.has(anchor) ? `#${anchor}` : "";
    return file === "" ? end || undefined : `${htmlName(file)}${end}`;
  };
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text: words }: Tokens.Heading): string {
        return `<h${depth} id="${escaped(anchorOf(words))}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      link({ href, tokens }: Tokens.Link): string {
        const to = target(href);
        const words = this.parser.parseInline(tokens);
        return to === undefined ? words : `<a href="${escaped(to)}">${words}</a>`;
      },
      image({ href, text: words }: Tokens.Image): string {
        const to = target(href);
        return to === undefined || /^https?:/.test(to)
          ? escaped(words)
          : `<img src="${escaped(to)}" alt="${escaped(words)}">`;
      },
      html: ({ text: raw }: Tokens.HTML | Tokens.Tag) => escaped(raw),
    },
  });
  return marked.parse(text, { async: false });
}
