// SPDX-License-Identifier: BSL-1.0
// Browsers start no worker for a page that is opened from disk. This one runs the worker's script in a hidden frame.
window.Worker = class extends EventTarget {
    constructor(url) {
        super()
        this.waiting = []
        this.frame = document.createElement("iframe")
        this.frame.hidden = true
        this.frame.srcdoc =
            '<script>window.postMessage = answer => parent.postMessage({answer}, "*")<\/script>' +
            '<script src="' + new URL(url, location.href).href.replace(/"/g, "%22") + '"><\/script>'
        this.frame.onload = () => {
            const waiting = this.waiting
            this.waiting = null
            waiting.forEach(message => this.postMessage(message))
        }
        window.addEventListener("message", event => {
            if (event.source === this.frame.contentWindow && event.data && "answer" in event.data)
                this.dispatchEvent(new MessageEvent("message", {data: event.data.answer}))
        })
        const append = () => document.body.appendChild(this.frame)
        document.body ? append() : addEventListener("DOMContentLoaded", append)
    }

    postMessage(message) {
        if (this.waiting)
            this.waiting.push(message)
        else // the frame's own postMessage is the worker's
            window.postMessage.call(this.frame.contentWindow, message, "*")
    }
}
