/** Replaces the usage of programs of busybox by `<usage NAME>`. */
export function shortUsage(output: string): string {
  const usage = /BusyBox v1\.35\.0 \(kubelab\) multi-call binary\.\n\nUsage: (\S+).*\n(?:or: .*\n|\t.*\n)*/g;
  return output.replace(usage, "<usage $1>\n").replace(/^\/bin\/sh: /gm, "sh: ");
}
