# Not part of `make check`, because it installs large packages:
# make check-apps  run real programs: NWChem, BAGEL, PETSc, OpenFOAM
check-apps: all
	tests/apps/run

.PHONY: check-apps
