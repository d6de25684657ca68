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
