/**
 * The arguments of awk for just-bash, which takes every field separator for a regular expression: a single character
 * other than a space is literal (POSIX, "Regular Expressions" of awk).
 */
export function awkArguments(args: readonly string[]): string[] {
  const out = [...args];
  for (let at = 0; at < out.length; at++) {
    const arg = out[at] ?? "";
    if (arg === "-F") {
      at++;
      out[at] = separator(out[at] ?? "");
    } else if (arg.startsWith("-F")) out[at] = `-F${separator(arg.slice(2))}`;
    else if (arg === "-v" || arg === "-f") at++;
    else if (!arg.startsWith("-") || arg === "-" || arg === "--") break;
  }
  return out;
}

function separator(text: string): string {
  return /^[.*+?()|{}[\]^$\\]$/.test(text) ? `\\${text}` : text;
}
