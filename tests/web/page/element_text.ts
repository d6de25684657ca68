// What an element would show, as text, without a document: its components are called, so they may not use hooks.
import type { ComponentChildren, VNode } from "preact";

/** The text of `element` and all that it holds, pieces joined by nothing. */
export function elementText(element: ComponentChildren): string {
  if (element === null || element === undefined || typeof element === "boolean") return "";
  if (Array.isArray(element)) return element.map(elementText).join("");
  if (typeof element !== "object") return String(element);
  const { type, props } = element as VNode<{ children?: ComponentChildren }>;
  if (typeof type !== "function") return elementText(props.children);
  return elementText((type as (props: object) => ComponentChildren)(props));
}

/** All elements named `tag` in `element`, in their order; `element` itself is one as well. */
export function elementsNamed(element: ComponentChildren, tag: string): VNode<Record<string, unknown>>[] {
  if (Array.isArray(element)) return element.flatMap((one) => elementsNamed(one, tag));
  if (element === null || typeof element !== "object") return [];
  const node = element as VNode<Record<string, unknown> & { children?: ComponentChildren }>;
  if (typeof node.type === "function") {
    return elementsNamed((node.type as (props: object) => ComponentChildren)(node.props), tag);
  }
  return (node.type === tag ? [node as VNode<Record<string, unknown>>] : []).concat(elementsNamed(node.props.children, tag));
}
