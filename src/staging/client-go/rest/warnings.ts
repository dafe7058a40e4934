/**
 * The texts of Warning headers with code 299. Node joins several headers with commas.
 * Mirrors ParseWarningHeaders in k8s.io/apimachinery/pkg/util/net/http.go.
 */
export function warningsIn(header: string | readonly string[] | undefined): string[] {
  const joined = typeof header === "string" ? header : (header ?? []).join(", ");
  return [...joined.matchAll(/299 [^ "]+ "((?:[^"\\]|\\.)*)"/g)].map(([, text = ""]) =>
    Buffer.from(text.replace(/\\(.)/g, "$1"), "latin1").toString(),
  );
}
