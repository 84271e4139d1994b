// Shoot takes a screenshot of a page after an element matches the selector and all visible charts
// have been drawn:
//
//	shoot URL SELECTOR WIDTH HEIGHT FILE
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/chromedp/chromedp"
)

// drawn is a script that returns whether all visible charts have been drawn.
const drawn = `[...document.querySelectorAll('[data-testid="chart"]')].every((c) => {
	const { top, bottom } = c.getBoundingClientRect();
	return !c.checkVisibility() || bottom < 0 || top > innerHeight || Number(c.dataset.drawn) > 0;
})`

// patience is the maximum time for loading and drawing a page.
const patience = 30 * time.Second

func main() {
	if err := shoot(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "shoot:", err)
		os.Exit(1)
	}
}

func shoot(args []string) error {
	if len(args) != 5 {
		return fmt.Errorf("usage: shoot URL SELECTOR WIDTH HEIGHT FILE")
	}
	width, err := strconv.ParseInt(args[2], 10, 64)
	if err != nil {
		return err
	}
	height, err := strconv.ParseInt(args[3], 10, 64)
	if err != nil {
		return err
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath("chromium"), chromedp.NoSandbox, chromedp.DisableGPU,
		// Simulate a mouse, so that controls that appear only under the pointer stay hidden.
		chromedp.Flag("blink-settings", "primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4"))...)
	defer cancel()
	ctx, cancel = chromedp.NewContext(ctx)
	defer cancel()
	if err := chromedp.Do(ctx); err != nil { // starts the browser
		return err
	}
	ctx, cancel = context.WithTimeout(ctx, patience)
	defer cancel()
	err = chromedp.Do(ctx, chromedp.EmulateViewport(width, height), chromedp.Navigate(args[0]),
		chromedp.WaitVisible(chromedp.CSS(args[1])))
	if err != nil {
		return err
	}
	if _, err := chromedp.Run(ctx, chromedp.Poll[bool](drawn)); err != nil {
		return err
	}
	picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		return err
	}
	return os.WriteFile(args[4], picture, 0o644)
}
