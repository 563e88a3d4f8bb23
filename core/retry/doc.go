// Package retry decides how long to wait before a retry and whether there may be one.
package retry
