/// <reference types="vitest/config" />
import react from "@vitejs/plugin-react"
import { defineConfig } from "vite"

// `npm run dev` serves the console beside a running server: DULY_URL names it.
const server = process.env.DULY_URL ?? "http://127.0.0.1:7070"

export default defineConfig({
  base: "/ui/",
  plugins: [react()],
  build: {
    target: "es2022",
    manifest: true,
    // Nothing as a data: address, so that the content policy needs no exception.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 1500,
  },
  server: { proxy: { "/api": server, "/auth": server } },
  test: { environment: "happy-dom", include: ["src/**/*.test.{ts,tsx}"] },
})
