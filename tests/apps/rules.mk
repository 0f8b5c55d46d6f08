# Real programs, large packages: not part of `make check`.
check-apps: all
	tests/apps/run

.PHONY: check-apps
