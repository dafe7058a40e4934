/** @returns a function that ends the watching */
export function watchSize(node: Element | null, changed: (width: number, height: number) => void): () => void {
  if (node === null) return () => {};
  const observer = new ResizeObserver(() => changed(node.clientWidth, node.clientHeight));
  observer.observe(node);
  return () => observer.disconnect();
}
