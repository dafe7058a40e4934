/** Programs whose command lines in a text must be commands of the lab, which the proof runs. */
const PROGRAMS = /^(kubelab|kubectl|openssl|curl) /;

/** Every command line that a lab runs, as written in its definition. Pure. */
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

/**
 * Command lines in inline code and in fenced blocks, with their line numbers. A bare program name is not a command
 * line.
 */
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
