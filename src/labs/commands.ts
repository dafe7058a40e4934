/** Programs whose lines in a text must be real: what a learner may paste was run by the proof. */
const PROGRAMS = /^(kubelab|kubectl|openssl|curl) /;

/** Every command line that a lab runs itself, as its definition spells it. Pure. */
export function commandsOf(definition: unknown): readonly string[] {
  const lines: string[] = [];
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) for (const one of value) visit(one);
    else if (typeof value === "object" && value !== null) {
      for (const [key, one] of Object.entries(value)) {
        if (typeof one === "string" && ["run", "do", "keep", "command"].includes(key)) lines.push(...linesOf(one));
        else visit(one);
      }
    }
  };
  visit(definition);
  return lines;
}

function linesOf(script: string): string[] {
  const trimmed = script.trim();
  return [trimmed, ...trimmed.split("\n").map((line) => line.trim())];
}

/** Command lines in inline code and in fenced blocks, with the line they stand in. Message such as `kubectl` alone are none. */
export function commandsInText(markdown: string): readonly { readonly line: number; readonly command: string }[] {
  const out: { line: number; command: string }[] = [];
  let isFenced = false;
  markdown.split("\n").forEach((text, i) => {
    if (text.startsWith("```")) {
      isFenced = !isFenced;
      return;
    }
    const spans = isFenced
      ? [text.replace(/^\$ /, "").trim()]
      : [...text.matchAll(/`([^`]+)`/g)].map((match) => (match[1] ?? "").trim());
    for (const command of spans) if (PROGRAMS.test(command)) out.push({ line: i + 1, command });
  });
  return out;
}
