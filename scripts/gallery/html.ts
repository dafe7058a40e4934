export const STYLE_FILE = "style.css";

/** The style of the index and of the docs; stories have their own. */
export const STYLE = `:root {
  color-scheme: light dark;
  --text: #1d2329; --dim: #5d6873; --back: #fbfbfa; --panel: #fff; --line: #dfe3e8; --accent: #0b62c4;
}
@media (prefers-color-scheme: dark) {
  :root { --text: #e4e8ed; --dim: #9aa6b2; --back: #12161b; --panel: #191e25; --line: #323b46; --accent: #74b3ff; }
}
* { box-sizing: border-box; }
body { max-width: 62rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; font: 16px/1.55 system-ui, sans-serif;
  color: var(--text); background: var(--back); overflow-wrap: break-word; }
a { color: var(--accent); }
img { max-width: 100%; }
pre, code { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: 0.88em; }
pre { padding: 0.7rem 1rem; overflow: auto; background: var(--panel); border: 1px solid var(--line); border-radius: 6px; }
table { display: block; overflow: auto; border-collapse: collapse; }
th, td { padding: 0.3rem 0.7rem; border: 1px solid var(--line); text-align: start; vertical-align: top; }
.stories { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 18rem), 1fr)); gap: 0.8rem; padding: 0; }
.stories li { list-style: none; padding: 0.8rem 1rem; background: var(--panel); border: 1px solid var(--line); border-radius: 8px; }
.stories a { font-weight: 600; }
.stories p { margin: 0.3rem 0 0; font-size: 0.9rem; color: var(--dim); }
`;

export const escaped = (text: string): string => text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);

interface PageParts {
  readonly language: "en" | "zh";
  readonly title: string;
  /** from the page to the gallery's folder: "" or "../" */
  readonly up: string;
  /** HTML */
  readonly body: string;
}

/** A page that runs nothing and loads the gallery's style and pictures only. */
export function page({ language, title, up, body }: PageParts): string {
  return `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'self'; img-src 'self' data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${up}${STYLE_FILE}">
</head>
<body>
${body}
</body>
</html>
`;
}
