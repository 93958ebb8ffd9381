// The editor and the comparison, loaded when one is shown.
import { type ComponentProps, lazy, Suspense } from "react"
import { Loading } from "../../shell/Loading"

const OfCode = lazy(() => import("./Code"))
const OfCompare = lazy(() => import("./Compare"))

export function CodeField(props: ComponentProps<typeof OfCode>) {
  return (
    <Suspense fallback={<Loading />}>
      <OfCode {...props} />
    </Suspense>
  )
}

export function Comparison(props: ComponentProps<typeof OfCompare>) {
  return (
    <Suspense fallback={<Loading />}>
      <OfCompare {...props} />
    </Suspense>
  )
}
