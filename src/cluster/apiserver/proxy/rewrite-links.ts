import { posix } from "node:path";
import { Transform } from "node:stream";

/** Where a proxied page comes from. */
export interface PageSource {
  /** the server behind the proxy: `10.244.0.9:80` */
  readonly host: string;
  /** the Host header of the client */
  readonly requestHost: string;
  /** what the proxy's paths begin with: `/api/v1/namespaces/default/pods/web/proxy` */
  readonly pathPrepend: string;
}

/** Attributes with addresses, by element. Mirrors atomsToAttrs. */
const ADDRESSES: Readonly<Record<string, readonly string[]>> = {
  a: ["href"],
  applet: ["codebase"],
  area: ["href"],
  audio: ["src"],
  base: ["href"],
  blockquote: ["cite"],
  body: ["background"],
  button: ["formaction"],
  command: ["icon"],
  del: ["cite"],
  embed: ["src"],
  form: ["action"],
  frame: ["longdesc", "src"],
  head: ["profile"],
  html: ["manifest"],
  iframe: ["longdesc", "src"],
  img: ["longdesc", "src", "usemap"],
  input: ["src", "usemap", "formaction"],
  ins: ["cite"],
  link: ["href"],
  object: ["classid", "codebase", "data", "usemap"],
  q: ["cite"],
  script: ["src"],
  source: ["src"],
  video: ["poster", "src"],
};

/** Elements whose content is text up to their end tag. */
const RAW_TEXT = /^(script|style|textarea|title|xmp|iframe|noembed|noframes)$/;
/** A longer tag passes unchanged. */
const MAX_TAG_CHARS = 8 * 1024;

/**
 * An address in a page, or in a redirect, as the client must ask for it. Addresses of other servers and relative ones stay.
 * Mirrors Transport.rewriteURL in k8s.io/apimachinery/pkg/util/proxy/transport.go.
 */
export function rewriteUrl(url: string, { host, requestHost, pathPrepend }: PageSource): string {
  const match = /^((?:[a-z][a-z0-9+.-]*:)?)((?:\/\/[^/?#]*)?)([^?#]*)(.*)$/is.exec(url);
  const [, scheme = "", authority = "", path = "", rest = ""] = match ?? [];
  const server = authority.slice(2);
  if (!path.startsWith("/") || (server !== "" && server !== host && server !== requestHost)) return url;
  const origin = server !== "" && server === requestHost ? `${scheme}${authority}` : "";
  if (path.startsWith(pathPrepend)) return `${origin}${path}${rest}`;
  const joined = posix.join(pathPrepend, path).replace(/\/$/, "");
  return `${origin}${joined}${path.endsWith("/") ? "/" : ""}${rest}`;
}

/**
 * Rewrites the addresses in the tags of an HTML page as it passes.
 * Mirrors rewriteHTML in transport.go. Differs: what it does not rewrite keeps its spelling.
 */
export class LinkRewriter extends Transform {
  #held = "";
  /** `</script`, while its content passes; `-->` in a comment */
  #until: string | undefined;

  constructor(readonly source: PageSource) {
    super();
  }

  override _transform(chunk: Buffer, _encoding: string, done: () => void): void {
    // One character per byte: tags are ASCII, and everything else stays as it is.
    this.#held += chunk.toString("latin1");
    this.push(Buffer.from(this.#take(false), "latin1"));
    done();
  }

  override _flush(done: () => void): void {
    this.push(Buffer.from(this.#take(true), "latin1"));
    done();
  }

  /** What is complete, rewritten. */
  #take(isEnd: boolean): string {
    const text = this.#held;
    let out = "";
    let at = 0;
    while (at < text.length) {
      const stop = this.#until ?? "<";
      const found = this.#until === undefined ? text.indexOf(stop, at) : indexOfTag(text, stop, at);
      if (found < 0) {
        const kept = isEnd ? text.length : Math.max(at, text.length - stop.length + 1);
        out += text.slice(at, kept);
        at = kept;
        break;
      }
      out += text.slice(at, found);
      at = found;
      if (this.#until !== undefined) {
        this.#until = undefined;
        if (stop !== "-->") continue;
        out += stop;
        at += stop.length;
        continue;
      }
      // A comment begins with four characters.
      if (text.length - at < 4 && !isEnd && text[at + 1] !== "/") break;
      if (text.startsWith("<!--", at)) {
        this.#until = "-->";
        out += "<!--";
        at += 4;
        continue;
      }
      const end = endOfTag(text, at);
      if (end === undefined) {
        if (!isEnd && text.length - at < MAX_TAG_CHARS) break;
        out += text[at];
        at++;
        continue;
      }
      out += this.#tag(text.slice(at, end));
      at = end;
    }
    this.#held = text.slice(at);
    return out;
  }

  #tag(tag: string): string {
    if (!tag.endsWith(">")) return tag;
    const name = /^<([a-z][^\s/>]*)/i.exec(tag)?.[1]?.toLowerCase() ?? "";
    if (RAW_TEXT.test(name) && !tag.endsWith("/>")) this.#until = `</${name}`;
    const wanted = Object.hasOwn(ADDRESSES, name) ? ADDRESSES[name] : undefined;
    if (wanted === undefined) return tag;
    return tag.replace(
      /(?<![^\s"'<>/=])([^\s"'<>/=]+)(\s*=\s*)("[^"]*"|'[^']*'|[^\s"'=<>`]+)/g,
      (whole, attribute: string, equals: string, value: string) => {
        if (!wanted.includes(attribute.toLowerCase())) return whole;
        const quote = /^["']/.exec(value)?.[0] ?? "";
        const url = quote === "" ? value : value.slice(1, -1);
        return `${attribute}${equals}${quote}${rewriteUrl(url, this.source)}${quote}`;
      },
    );
  }
}

function indexOfTag(text: string, tag: string, from: number): number {
  for (let at = text.indexOf(tag[0] ?? "", from); at >= 0; at = text.indexOf(tag[0] ?? "", at + 1)) {
    if (text.slice(at, at + tag.length).toLowerCase() === tag) return at;
  }
  return -1;
}

/** The index behind a tag, or of the next `<`; undefined if neither comes. What is in quotes does not end it. */
function endOfTag(text: string, start: number): number | undefined {
  let quote = "";
  for (let at = start + 1; at < text.length && at - start < MAX_TAG_CHARS; at++) {
    const char = text[at] ?? "";
    if (quote !== "") quote = char === quote ? "" : quote;
    else if (char === ">") return at + 1;
    else if (char === "<") return at;
    else if ((char === '"' || char === "'") && text[at - 1] === "=") quote = char;
  }
  return undefined;
}
