"""Tables that ship with scikit-learn, with the defaults of the package."""

import time

import numpy as np
import pytest

import cbo_pipeline as cbo
from table_files import of_sklearn


def test_the_hybrid_reads_digits():
    """At least 0.95 of the test part, with all defaults; classes that are words."""
    columns, target = of_sklearn("digits")
    columns[target] = np.array([f"digit {k}" for k in columns[target]])
    begin = time.process_time()
    run = cbo.train(data=columns, target=target, method="hybrid", progress=False)
    assert float(run["accuracy"][-1]) >= 0.95
    assert time.process_time() - begin < 60
    predicted = cbo.predict(run, {name: x for name, x in columns.items() if name != target})[target].values
    assert np.mean(predicted == columns[target]) > 0.98


@pytest.mark.parametrize("method", ["adam", "hybrid"])
def test_breast_cancer_is_told_from_its_absence(method):
    columns, target = of_sklearn("breast_cancer")
    run = cbo.train(data=columns, target=target, method=method, progress=False, epochs=60)
    assert float(run["accuracy"][-1]) >= 0.93


@pytest.mark.parametrize("method", ["adam", "hybrid"])
def test_diabetes_is_predicted_better_than_by_its_mean(method):
    columns, target = of_sklearn("diabetes")
    run = cbo.train(data=columns, target=target, method=method, progress=False, epochs=30)
    assert float(run["risk_test"][-1]) < 0.75
