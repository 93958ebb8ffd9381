// A button that opens a sheet; explains when one may not do what is in it.
import { useState } from "react"
import { type Place, useWhyNot } from "../may"
import { Press, type PressProps } from "../Press"
import { Sheet } from "./Sheet"

type Props = Omit<PressProps, "onClick" | "children" | "title" | "busy" | "whyNot"> & {
  /** Whoever is signed in may, if absent. */
  needs?: string
  place?: Place
  words: string
  title: string
  children: (close: () => void) => React.ReactNode
}

export function Opens({ needs, place, words, title, children, ...button }: Props) {
  const [open, setOpen] = useState(false)
  const why = useWhyNot()
  const close = () => setOpen(false)
  return (
    <>
      <Press {...button} whyNot={needs === undefined ? undefined : why(needs, place)} onClick={() => setOpen(true)}>
        {words}
      </Press>
      {open && (
        <Sheet title={title} close={close}>
          {children(close)}
        </Sheet>
      )}
    </>
  )
}
