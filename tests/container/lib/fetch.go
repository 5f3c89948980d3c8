// SPDX-License-Identifier: Apache-2.0
//
// fetch URL - prints the status of the answer: a static program that resolves names by itself.
package main

import (
	"fmt"
	"net/http"
	"os"
)

func main() {
	answer, err := http.Get(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(answer.StatusCode)
}
