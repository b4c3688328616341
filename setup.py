"""Adds the sample data, which live beside the package in the checkout, to the installed package.

Everything else about the project is in pyproject.toml.
"""

from setuptools import find_packages, setup

setup(
    packages=[*find_packages(include=["acvb_core", "acvb_core.*"]), "acvb_core.sample_data"],
    package_dir={"acvb_core.sample_data": "sample_data"},
    package_data={"acvb_core": ["py.typed"], "acvb_core.sample_data": ["*", "*/*"]},
)
