# Not part of `make check`, because it installs large packages:
# make check-apps  run real programs: NWChem, BAGEL, PETSc, OpenFOAM, LAMMPS, GROMACS, CP2K, Quantum
#                  ESPRESSO, HPCC; REPEATS=5 for times with their spread, RANKS=4 for so many ranks, NPB=FOLDER for the
#                  NAS parallel benchmarks
check-apps: all
	tests/apps/run $(if $(RANKS),-n $(RANKS)) $(if $(REPEATS),-r $(REPEATS)) $(if $(NPB),--npb $(NPB))

.PHONY: check-apps
