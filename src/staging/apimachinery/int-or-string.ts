/**
 * A number, or a percentage of `total`, rounded up or down; 0 for anything else.
 * Mirrors GetScaledValueFromIntOrPercent in k8s.io/apimachinery/pkg/util/intstr/intstr.go.
 * @param value `2`, `"25%"`
 */
export function scaledValue(value: unknown, total: number, roundUp: boolean): number {
  if (typeof value === "number") return value;
  const percent = Number(/^(\d+)%$/.exec(String(value))?.[1] ?? 0);
  const exact = (percent * total) / 100;
  return roundUp ? Math.ceil(exact) : Math.floor(exact);
}
