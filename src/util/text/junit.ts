/** A suite of JUnit's XML. A case without `failure` and `skipped` has passed. */
export interface JunitSuite {
  readonly name: string;
  readonly cases: readonly {
    readonly group: string;
    readonly name: string;
    readonly failure?: string;
    readonly isSkipped?: boolean;
  }[];
}

/** The XML that CI systems read as results of tests. */
export function junitXml(suites: readonly JunitSuite[]): string {
  const parts = suites.flatMap(({ name, cases }) => {
    const failures = cases.filter(({ failure }) => failure !== undefined).length;
    const skipped = cases.filter(({ isSkipped }) => isSkipped).length;
    return [
      `  <testsuite name="${attribute(name)}" tests="${cases.length}" skipped="${skipped}" failures="${failures}">`,
      ...cases.map(caseXml),
      "  </testsuite>",
    ];
  });
  return ['<?xml version="1.0" encoding="UTF-8"?>', '<testsuites name="kubelab">', ...parts, "</testsuites>"].join(
    "\n",
  );
}

function caseXml({ group, name, failure, isSkipped }: JunitSuite["cases"][number]): string {
  const open = `    <testcase classname="${attribute(group)}" name="${attribute(name)}"`;
  if (failure !== undefined) return `${open}><failure message="${attribute(failure)}"/></testcase>`;
  return isSkipped ? `${open}><skipped/></testcase>` : `${open}/>`;
}

/** Without the control characters that XML 1.0 cannot hold. */
function attribute(text: string): string {
  return (
    text
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is removed
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "")
      .replaceAll("&", "&amp;")
      .replaceAll('"', "&quot;")
      .replaceAll("<", "&lt;")
      .replaceAll(">", "&gt;")
      .replaceAll("\n", "&#10;")
  );
}
