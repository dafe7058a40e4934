/** `1 pod`, `2 pods`, `2 sandboxes` */
export function counted(count: number, word: string, ending = "s"): string {
  return `${count} ${word}${count === 1 ? "" : ending}`;
}
